"""The live objects of a cluster by their topmost owners, each checked as the validating hook checks its creation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Final

import msgspec

from webhook.cluster.api_server import OBJECTS
from webhook.cluster.objects import POD, Kind, LiveObjects, Object, Objects, all_of
from webhook.cluster.reading import controlling, entries, number, part, word
from webhook.diagnose.answer import code, lines_of_unread
from webhook.diagnose.pods import CHECKED
from webhook.diagnostics import dotted
from webhook.patch import pointer
from webhook.policy.context import RequestContext
from webhook.policy.evaluate import Evaluator
from webhook.policy.messages import printable
from webhook.policy.pods.reading import MalformedError
from webhook.policy.settings.settings import Settings
from webhook.policy.verdict import UNTOUCHED, Decision, Finding, Verdict, skipped
from webhook.policy.workloads.kinds import BUILT_IN, Kinds, group_of
from webhook.report.check.text import Remedies
from webhook.report.exit_codes import ExitCode
from webhook.report.lines import counted, first, hanging, wrapped
from webhook.report.model import Subject, filled


def enforcing(settings: Settings) -> Settings:
    """The settings in the mode `enforce`, and without the modes of namespaces, which could be lower."""
    rules = tuple(replace(rule, mode=None) for rule in settings.namespaces)
    return replace(settings, mode="enforce", namespaces=rules)


@dataclass(slots=True)
class Audited:
    """An object with its verdict in each world, and how many live pods it has. A verdict skips a malformed object.

    `by_pod` names the pod that was checked, one of `pods` with the same verdicts, where the object's own template is
    unknown or differs; empty otherwise.
    """

    subject: Subject
    verdicts: tuple[Verdict, ...]
    pods: int = 0
    by_pod: str = ""

    def covers(self, others: Sequence[Verdict]) -> bool:
        """Whether the row says all that these verdicts would say."""
        return all(map(_covers, self.verdicts, others))

    def as_data(self, verdict: Verdict) -> dict[str, Any]:
        return {"object": self.subject.as_data(), "pods": self.pods, **filled(checkedPod=self.by_pod), **data(verdict)}


def _covers(verdict: Verdict, other: Verdict) -> bool:
    if other.is_skipped or (other.reason and not verdict.findings):
        return (verdict.is_skipped, verdict.reason) == (other.is_skipped, other.reason)
    known, said = ({(each.code, each.severity) for each in one.findings} for one in (verdict, other))
    return said <= known


def label(verdict: Verdict) -> str:
    """The word for the decision. An object that cannot be checked is an error."""
    return "error" if verdict.is_skipped else verdict.decision.label


def data(verdict: Verdict) -> dict[str, Any]:
    """A verdict in the words of the report of `check`."""
    why = "problem" if verdict.is_skipped else "reason"
    rest = filled(omitted=verdict.omitted(), **{why: verdict.reason})
    return {"decision": label(verdict), "findings": list(map(finding_data, verdict.findings)), **rest}


def finding_data(finding: Finding) -> dict[str, Any]:
    """A finding as data."""
    return {**asdict(finding), "severity": finding.severity.label, "path": pointer(finding.path)}


_MAKES: Final[Mapping[str, str]] = {
    "ReplicationController": "Pod",
    "ReplicaSet": "Pod",
    "StatefulSet": "Pod",
    "DaemonSet": "Pod",
    "Job": "Pod",
    "Deployment": "ReplicaSet",
    "CronJob": "Job",
}
"""What the kinds of Kubernetes make. An author may name any other owner, which makes nothing."""

_BUILT_IN: Final = ("", "apps", "batch")
"""The groups of the kinds of Kubernetes that hold pods."""

_OF_NODES: Final = ("cni.projectcalico.org/", "k8s.v1.cni.cncf.io/", "k8s.ovn.org/")
"""Prefixes of annotations with which networks describe each pod alone."""

_TOKEN_VOLUME: Final = re.compile(rb"kube-api-access-[a-z0-9]{5}")
"""The name of a volume that is another one in each pod (kubernetes plugin/pkg/admission/serviceaccount)."""


class Census:
    """Collects the objects page by page, and keeps only the verdicts of each.

    An object counts in the row of its owner if the kind of the owner makes such objects, and the row has all findings
    of the object. So an author who names an owner hides nothing.
    """

    def __init__(self, worlds: Sequence[Evaluator]) -> None:
        self._worlds = worlds
        self._row_of: dict[Subject, Audited] = {}
        self._known: dict[tuple[Subject, int], Audited] = {}
        self._rows: dict[object, Audited] = {}

    def add(self, found: Object, kind: Kind) -> None:
        """Add an object with a template."""
        own, owner = _named(found, kind.api_version, kind.kind)
        row = self._row_of.get(_key(owner))
        replicas = number(found, "spec", "replicas", default=1), number(found, "status", "replicas")
        if row is not None and not any(replicas):
            return  # a revision that a Deployment keeps for a rollback
        said = tuple(verdicts(self._worlds, found, own))
        if row is None or not row.covers(said):
            row = self._rows[own] = Audited(own, said)
        self._row_of[_key(own)] = row

    def add_pod(self, found: Object) -> None:
        """Add a pod. Templates are complete before the first pod."""
        own, owner = _named(found, "v1", "Pod")
        alike = owner, _digest(found)
        row = self._known.get(alike)
        if row is None:
            said = tuple(verdicts(self._worlds, found, own))
            row = self._row_of.get(_key(owner))
            if row is None or not row.covers(said):
                subject = owner if row is None else row.subject
                key = subject, *((one.decision, one.findings, one.reason) for one in said)
                by_pod = "" if owner == own else own.name
                row = self._rows.setdefault(key, Audited(subject, said, by_pod=by_pod))
            self._known[alike] = row
        row.pods += 1

    def rows(self) -> list[Audited]:
        """The rows in the order of namespaces, kinds and names."""
        return sorted(self._rows.values(), key=lambda row: (row.subject.namespace, row.subject[1:], row.by_pod))


def _named(found: Object, api_version: str, kind: str) -> tuple[Subject, Subject]:
    """An object, and the owner that may have made it: of a kind that makes such objects, or of a custom kind.

    An object without such an owner is its own.
    """
    own = Subject(api_version, kind, word(found, "metadata", "namespace"), word(found, "metadata", "name"))
    owner = controlling(found.get("metadata"))
    if owner is None:
        return own, own
    maker = Subject(word(owner, "apiVersion"), word(owner, "kind"), own.namespace, word(owner, "name"))
    return own, own if group_of(maker.api_version) in _BUILT_IN and _MAKES.get(maker.kind) != kind else maker


def verdicts(worlds: Iterable[Evaluator], found: Object, own: Subject) -> Iterator[Verdict]:
    """The verdict in each world, without edits. A live object is an update, from which no edits are expected.

    The node of a pod is not its author's choice. A kubelet makes a pod for a static one, and names the node.
    """
    groups: tuple[str, ...] = ()
    if own.kind == "Pod":
        found = {**found, "spec": _without(found.get("spec"), "nodeName")}
        owner = controlling(found.get("metadata")) or {}
        groups = ("system:nodes",) if owner.get("kind") == "Node" else ()
    origin = RequestContext(own.namespace, is_final_hook=True, is_update=True, groups=groups)
    found, group = {**found, "kind": own.kind}, group_of(own.api_version)  # the items of a list name no kind
    for world in worlds:
        try:
            verdict = world.verdict(world.pods(found, group, own.kind), origin)
            yield verdict._replace(edits=()) if verdict.findings or verdict.reason else UNTOUCHED
        except MalformedError as error:
            field = printable(dotted(error.path))
            yield skipped(f"{field}: {error}" if field else str(error))


def _key(subject: Subject) -> Subject:
    """The object by its API group, whatever the version."""
    return subject._replace(api_version=group_of(subject.api_version))


def _digest(pod: Object) -> int:
    """A number that is equal for pods of one template: those that differ only in what each pod has for itself."""
    metadata, spec = part(pod, "metadata"), _without(pod.get("spec"), "nodeName", "hostname")
    annotations = metadata.get("annotations")
    kept = _without(annotations, *(key for key in part(annotations) if str(key).startswith(_OF_NODES)))
    return hash(_TOKEN_VOLUME.sub(b"", msgspec.json.encode([spec, kept, metadata.get("labels")])))


def _without(value: object, *keys: str) -> object:
    """A mapping without these keys; another value, which is malformed, as it is."""
    return {key: each for key, each in value.items() if key not in keys} if isinstance(value, dict) else value


async def take(
    objects: Objects,
    worlds: Sequence[Evaluator],
    kinds: Sequence[Kind],
    namespace: str | None,
    query: Mapping[str, str],
    each_pod: Callable[[Object], object] = lambda _pod: None,
) -> list[Audited]:
    """Read and check what lives in a namespace, or in all of them for None. `each_pod` gets each pod as well."""
    census = Census(worlds)
    for kind in kinds:
        if namespace is None or kind.is_namespaced:
            shape = CHECKED if kind.group in _BUILT_IN else OBJECTS
            async for one in all_of(objects, kind, namespace, shape, **query):
                census.add(one, kind)
    async for one in all_of(objects, POD, namespace, CHECKED, **query):
        census.add_pod(one)
        each_pod(one)
    return census.rows()


async def served(objects: LiveObjects, kinds: Kinds) -> list[Kind]:
    """Return the kinds that the cluster serves, but for Pod: custom kinds first, which may own the others.

    A custom kind has the newest version that is known and served, or else a preferred one. Owners come before the
    built-in kinds that they own, which every cluster serves.
    """
    found = []
    custom = [kind for name, kind in kinds.items() if kind.group and name not in BUILT_IN]
    groups = await objects.document("/apis") if custom else None
    versions = {word(one, "name"): _versions(one) for one in entries(groups, "groups")}
    for kind in custom:
        known = versions.get(kind.group, ())
        wanted = dict.fromkeys([*(one for one in kind.versions if one in known), *known])
        listed = await objects.served(Kind(kind.kind, kind.resource, kind.group, version) for version in wanted)
        found += [] if listed is None else [listed]
    built_in = (BUILT_IN[name] for name in reversed([*BUILT_IN]) if name in kinds and name != ("", "Pod"))
    return [*found, *(Kind(kind.kind, kind.resource, kind.group) for kind in built_in)]


def _versions(group: Object) -> list[str]:
    """The versions of an API group, the preferred one first (metav1.APIGroup)."""
    listed = (part(group, "preferredVersion"), *entries(group, "versions"))
    return [version for one in listed if (version := word(one, "version"))]


DECISIONS = ("allowed", "warned", "denied", "error")
"""The words for decisions in a summary, in its order."""


@dataclass(frozen=True, slots=True)
class Audit:
    """The answer: each owner with its verdict. `mode` is that of an option, empty where the settings decide."""

    kind: ClassVar[str] = "AuditReport"

    rows: tuple[Audited, ...]
    mode: str = ""

    def exit_code(self, unread: int) -> ExitCode:
        """Return the exit code. An object that cannot be checked is one that cannot be read."""
        verdicts = [row.verdicts[0] for row in self.rows]
        is_denied = any(one.decision is Decision.DENIED for one in verdicts)
        return code(unread + any(one.is_skipped for one in verdicts), is_bad=is_denied)

    def _summary(self) -> dict[str, int]:
        counts = Counter(label(row.verdicts[0]) for row in self.rows)
        pods = sum(row.pods for row in self.rows)
        return {"objects": len(self.rows), "pods": pods, **{word: counts[word] for word in DECISIONS}}

    def as_data(self) -> dict[str, Any]:
        results = [row.as_data(row.verdicts[0]) for row in self.rows]
        return {**({"mode": self.mode} if self.mode else {}), "summary": self._summary(), "results": results}

    def lines(self, width: int | None, unread: int = 0) -> Iterator[str]:
        remedies = Remedies()
        exempt: dict[str, list[str]] = {}
        for row in self.rows:
            verdict = row.verdicts[0]
            problem = verdict.reason if verdict.is_skipped else ""
            if verdict.reason and not problem:
                exempt.setdefault(verdict.reason, []).append(row.subject.namespace)
            if verdict.findings or problem:
                by_pod = f" (checked: pod {printable(row.by_pod)})" if row.by_pod else ""
                yield from hanging(f"{label(verdict)}:", f"{described(row.subject, row.pods)}{by_pod}", width, "  ")
            for finding in verdict.findings:
                remedies.add(finding)
                said = f"{finding.severity.label}: {finding.message} at {printable(pointer(finding.path), 1024) or '/'}"
                yield from hanging(f"  {finding.code}", said, width, "    ")
            for omitted, count in verdict.omitted().items():
                yield f"  and {counted(count, 'more finding')} of {omitted}"
            if problem:
                yield from hanging("  cannot be checked:", printable(problem, 1024), width, "    ")
        if listed := list(remedies.listed()):
            yield ""
            yield from wrapped("Remedies (gpushare-webhook explain CODE tells more):", width)
            for each, remedy in listed:
                yield from hanging(f"  {each}", printable(remedy, 1024), width, "    ")
            yield ""
        for reason, namespaces in sorted(exempt.items()):
            where = first(list(dict.fromkeys(namespaces)))
            yield from hanging(counted(len(namespaces), "object"), f"{printable(reason)} ({where})", width, "  ")
        yield from lines_of_unread(unread, width)
        summary = self._summary()
        owners, pods = counted(summary["objects"], "object"), counted(summary["pods"], "pod")
        said = ", ".join(f"{summary[word]} {word}" for word in DECISIONS if summary[word])
        yield f"{owners} with {pods}: {said or 'nothing to check'}" + (f" (mode: {self.mode})" if self.mode else "")


def described(subject: Subject, pods: int) -> str:
    """An object and how many pods it has."""
    return f"{subject}, {counted(pods, 'pod')}" if pods and subject.kind != "Pod" else str(subject)
