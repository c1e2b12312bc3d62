"""The results of a check: what is found about each object of the inputs.

A first pass over the inputs finds what describes a cluster before anything is checked. Inputs stay in memory between
the passes: standard input can be read once, and no file is read twice.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from webhook.diagnostics import Diagnostic, Unread, listed
from webhook.dryrun.evaluation import DEFAULT_NAMESPACE, USERS, Evaluated, evaluate
from webhook.dryrun.inputs import Found, Input, Inputs, contents, entries
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.manifests import Builds, Document, Manifest, Source, objects
from webhook.policy.checks import CHECKS
from webhook.policy.messages import printable
from webhook.policy.placement.platforms import GKE_TEXTS
from webhook.policy.sharing.config import may_be_configuration
from webhook.policy.verdict import DECISIONS, Decision, message
from webhook.report.model import Entry, LocatedFinding, Place, Result, Suppression, Suppressor


def results(
    inputs: Inputs, evaluator: OfflineEvaluator, given: Iterable[Found], accept: Callable[[Entry], Entry] | None = None
) -> Iterator[Entry]:
    """Yield the results in the order of what the inputs hold, without what their comments ignore.

    `accept` leaves out further findings. Raises InputError.
    """
    first: dict[tuple[str, str], tuple[str, str]] = {}
    snapshot = evaluator.snapshot

    def checked(source: Input) -> Iterator[Entry]:
        for one in checked_objects(source):
            evaluated = evaluate(one, evaluator, inputs.namespace) if isinstance(one, Manifest) else one
            entry = evaluated.result() if isinstance(evaluated, Evaluated) else evaluated
            if isinstance(entry, Result) and entry.users:
                one_cluster = snapshot.facts.nodes is not None
                entry = _with_other_user(entry, first, ("", "") if one_cluster else _group(entry, source))
            if isinstance(entry, Result) and entry.comments:
                entry = _without_ignored(entry, allowed=snapshot.settings.suppress.comments)
            yield accept(entry) if accept else entry

    def read(source: Input) -> Iterable[Entry]:
        return _once(list(checked(source))) if isinstance(source, Builds) else checked(source)

    yield from listed(entries(inputs, read, given))


def _once(entries: Sequence[Entry]) -> Iterator[Entry]:
    """Yield what is found about objects that several kustomizations build.

    The first result with a finding counts the other overlays that have it, and their results repeat it.
    """
    overlays: dict[object, dict[str, None]] = {}
    for result in (entry for entry in entries if isinstance(entry, Result)):
        for one in result.findings:
            overlays.setdefault(_identity(result, one), {})[result.source] = None
    told: set[Diagnostic] = set()
    for entry in entries:
        if isinstance(entry, Diagnostic) and entry not in told:
            told.add(entry)
            yield entry
        if not isinstance(entry, Result):
            continue
        found = []
        for one in entry.findings:
            first, *others = overlays[_identity(entry, one)]
            is_first = first == entry.source
            found.append(replace(one, also_in=len(others) if is_first else 0, is_repeated=not is_first))
        notes = tuple(note for note in entry.notes if note not in told)
        told.update(notes)
        yield entry._replace(findings=tuple(found), notes=notes)


def _identity(result: Result, finding: LocatedFinding) -> object:
    return finding.file or result.file, finding.line, finding.column, finding.code, finding.message


def checked_objects(source: Input) -> Iterator[Manifest | Diagnostic | Unread]:
    """Yield the objects of an input, each before the configurations of the device plugin and values that it holds."""
    if not any(may_configure_plugin(data) or any(kind in data for kind in _SECRET) for _, data in contents(source)):
        yield from objects(source, _claim)
        return
    from webhook.dryrun.configurations import configurations  # few inputs have some

    for one in objects(source, _claim):
        yield one
        if isinstance(one, Manifest):
            yield from configurations(one)


_SECRET = (b" Secret", b'"Secret"', b"'Secret'", b"secretGenerator")
"""The kind of a Secret, and what makes one. Most manifests name one in `imagePullSecrets` alone."""


def _claim(file: str, document: Document) -> Sequence[Manifest | Diagnostic | Unread]:
    from webhook.dryrun.configurations import claim  # few inputs have documents that are no objects

    return claim(file, document)


def _group(result: Result, source: Input) -> tuple[str, str]:
    """Return the namespace of an object, and its folder or that of the kustomization that builds it."""
    file = result.source if isinstance(source, Builds) else result.file
    return result.subject.namespace or DEFAULT_NAMESPACE, file.rpartition("/")[0]


def _with_other_user(result: Result, first: dict[tuple[str, str], tuple[str, str]], group: tuple[str, str]) -> Result:
    """Return a result with a finding if it uses MPS as another user than the first object that may run beside it.

    Objects of one namespace and folder may, and all objects of one cluster, whose nodes are known. Others may be meant
    for clusters that have nothing in common, as in a repository of examples. `first` holds users and their objects, by
    groups of objects that may run side by side.
    """
    if group not in first:
        first[group] = result.users[0].value, str(result.subject)
        return result
    user, earlier = first[group]
    other = next((one for one in result.users if one.value != user), None)
    if other is None or any(located.code == USERS for located in result.findings):
        return result
    problem = f"uses MPS as user {other.value}, {{}} as user {user}; on one node they wait for each other"
    remedy = "set the same runAsUser in all of them"
    finding = replace(other, message=str(message(problem, earlier)), remedy=remedy)
    findings = sorted((*result.findings, finding), key=lambda one: one.code)
    decision = max(Decision[result.decision.upper()], DECISIONS[finding.severity])
    return result._replace(findings=tuple(findings), decision=decision.label)


_REASON = re.compile(r"(?:^|[ \t])(?:-+|\u2013|\u2014)(?:[ \t]+|$)")
"""What separates codes from the reason: a dash of any length between blanks."""

_MOST_NOTES = 20
"""Notes about the comments of one object."""


def _without_ignored(result: Result, *, allowed: bool) -> Result:
    """Return the result without the findings that its comments ignore, and with notes about comments without effect."""
    reasons: dict[tuple[str, int, str], str] = {}
    notes: list[Diagnostic] = []
    for comment in result.comments:
        problem = "" if allowed else "the comment suppresses nothing: suppress.comments is off in the settings"
        codes, *reason = _REASON.split(comment.text, maxsplit=1)
        named = [code for one in codes.split(",") if (code := one.strip().upper())]
        if allowed and not named:
            problem = "the comment names no check; name one, such as GPS001"
        for code in named if allowed else ():
            if code in _CODES:
                reasons.setdefault((comment.file, comment.target, code), reason[0].strip() if reason else "")
            else:
                problem = problem or f'the comment ignores "{printable(code)}", which is not a check'
        if problem:
            notes.append(Diagnostic(comment.file or result.file, comment.line, comment.column, problem))
    more = len(notes) - _MOST_NOTES
    if more > 0:
        message = f"and {more} more notes about comments of this object"
        notes[_MOST_NOTES:] = [Diagnostic(result.file, result.line, 1, message)]
    left = result.without(list(_suppressed(result, reasons))) if reasons else result
    return left._replace(notes=(*result.notes, *notes), comments=())


_CODES = frozenset(check.code for check in CHECKS)


def _suppressed(result: Result, reasons: Mapping[tuple[str, int, str], str]) -> Iterator[Suppression]:
    """Yield what comments ignore, by the lines and codes that they name: the line of the finding, or of the object."""
    counted: list[tuple[str, int, str, LocatedFinding | None, int]]
    counted = [(located.file, located.line, located.code, located, 1) for located in result.findings]
    counted += [("", result.line, code, None, count) for code, count in result.omitted.items()]
    for file, line, code, located, count in counted:
        reason = reasons.get((file, line, code), reasons.get(("", result.line, code)))
        if reason is not None:
            yield Suppression(code, Suppressor.COMMENT, located, count, reason)


MOST_BYTES = 32 * 1024 * 1024
"""Bytes of the inputs that wait for the second pass. Inputs with more show nothing."""

_DESCRIBING = b"Node|RuntimeClass|DeviceClass|LocalQueue|GPUCluster|LimitRange|ResourceQuota"
_KINDS = re.compile(rb"""kind["']?[ \t]*:[ \t]*["']?(%b)(?:List)?\b""" % _DESCRIBING)
_NAMES = (b"devicePlugin", b"nvidia-device-plugin", b"device-plugin.config", b"fallbackStrategies")
"""What ClusterPolicies, labels of nodes and values of charts hold that choose a configuration of the device plugin."""

_SELECTOR = b"/node-selector"
"""What a Namespace has that adds a node selector to its pods."""

_CONFIG = re.compile(rb"""config\\?["']?[ \t]*:(?s:.){0,300}?default\\?["']?[ \t]*:""")
"""Values of the plugin's chart that name a ConfigMap and the default."""

_GKE = [text.encode() for text in GKE_TEXTS]
_OUTSIDE_COMMENTS = re.compile(rb"^[^#\n]*?(?:%b)" % b"|".join(map(re.escape, _GKE)), re.MULTILINE)


class FirstPass:
    """The inputs that have been read, the rest of them, and which of them may describe a cluster.

    `sources` may do so, as a search for words tells. `is_whole`: all inputs were read; otherwise `sources` is empty.
    `has_words`: some of what was read may describe a cluster. `gke`: the first line with a mark of GKE.
    """

    def __init__(self, found: Iterable[Found], names: Iterable[str] = ()) -> None:
        """Read inputs up to MOST_BYTES. `names` are those of GPU resources."""
        gpus = [name.encode() for name in names]
        self._folders: set[str] = set()
        self.rest = iter(found)
        self.held: deque[Found] = deque()
        self.sources: list[Input] = []
        self.is_whole = True
        self.has_words = False
        self.gke: Place | None = None
        size = 0
        for one in self.rest:
            self.held.append(one)
            if isinstance(one, Unread | Diagnostic):
                continue
            for file, data in contents(one):
                # Most manifests have none of the words.
                if _KINDS.search(data) is not None or _SELECTOR in data or may_configure_plugin(data):
                    self.has_words = True
                    if not self.sources or self.sources[-1] is not one:
                        self.sources.append(one)
                if any(name in data for name in gpus):
                    self._folders.update((".", *accumulate(file.split("/")[:-1], "{}/{}".format)))
                is_likely = self.gke is None and any(text in data for text in _GKE)
                if is_likely and (mark := _OUTSIDE_COMMENTS.search(data)):
                    first_line = one.first_line if isinstance(one, Source) else 1
                    self.gke = Place(file, first_line + data.count(b"\n", 0, mark.start()))
                size += len(data)
            if size > MOST_BYTES:
                self.is_whole = False
                self.sources.clear()
                return

    def given(self) -> Iterator[Found]:
        """Yield all inputs in their order, once, with the folders that name a GPU resource marked as such."""
        while self.held:
            one = self.held.popleft()
            if isinstance(one, Unread) and one.instead and one.file.rstrip("/") in self._folders:
                one = replace(one, names_gpu=True)
            yield one
        yield from self.rest


def may_configure_plugin(data: bytes) -> bool:
    """Whether bytes have a word that configurations of the device plugin have, or objects that choose among them."""
    if any(name in data for name in _NAMES) or (b"config" in data and _CONFIG.search(data) is not None):
        return True
    return may_be_configuration(data)
