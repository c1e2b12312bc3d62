"""A question's object with what is known about it, its causes, and the answer that lists them.

The decisions read a case, and nothing that they would have to fetch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, NamedTuple

from webhook.cluster.reading import Object, entries, part, word
from webhook.diagnose.answer import code, lines_of_unread
from webhook.diagnose.chain import UNKNOWN_HOLDERS, Chain, Held
from webhook.diagnose.remedy import Remedy, filled
from webhook.diagnose.why.state import Event, name_of, owner_of
from webhook.diagnose.words import named, reference, within
from webhook.policy.context import PodContext
from webhook.policy.messages import Word, cut, printable
from webhook.policy.placement.facts import Facts
from webhook.policy.pods.quantity import NANO, parse_or_zero
from webhook.policy.settings.settings import Settings
from webhook.report.exit_codes import ExitCode
from webhook.report.lines import hanging

_LONGEST: Final = 1024
"""Characters of a line of an answer: an Event's message has as many at most."""

_MOST_EVIDENCE: Final = 12

_WELL: Final = frozenset({"nothing-wrong", "completed"})
"""The causes that say that nothing is wrong."""


class Reference(NamedTuple):
    """The object of a question."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind.lower()} {where}"


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause. `cause` is its name, `remedy` the command or edit that helps; empty where nothing is to do.

    A remedy that is text is a template until it is part of an answer: `names` are those in it (`Case.remedy`). Names in
    a remedy that are not legal follow the evidence. Empty evidence is left out.
    """

    cause: str
    summary: str
    evidence: Sequence[str] = ()
    remedy: str | Remedy = ""
    names: Mapping[str, str | list[Any]] = field(default_factory=dict)

    def as_data(self) -> dict[str, Any]:
        remedy, evidence = Remedy(self.remedy), [one for one in self.evidence if one]
        return {
            "cause": self.cause,
            "summary": cut(self.summary, _LONGEST),
            "evidence": [cut(one, _LONGEST) for one in (*evidence[:_MOST_EVIDENCE], *remedy.doubts)],
            **remedy.as_data(),
        }


@dataclass(frozen=True, slots=True)
class Why:
    """The answer: at least one cause."""

    kind: ClassVar[str] = "WhyReport"

    of: Reference
    state: str
    causes: Sequence[Cause]

    def as_data(self) -> dict[str, Any]:
        return {"object": self.of._asdict(), "state": self.state, "causes": [one.as_data() for one in self.causes]}

    @property
    def is_well(self) -> bool:
        """Whether no cause says that something is wrong."""
        return all(one.cause in _WELL for one in self.causes)

    def exit_code(self, unread: int) -> ExitCode:
        """Return the exit code. A cause is one, whatever else could not be read."""
        return code(unread) if self.is_well else ExitCode.DENIED

    def lines(self, width: int | None, unread: int = 0) -> Iterator[str]:
        for index, one in enumerate(self.causes):
            data = one.as_data()
            head = "also:" if index else f"{printable(str(self.of))} is {printable(self.state)}:"
            yield from hanging(head, f"{printable(data['summary'], _LONGEST)} ({one.cause})", width, "  ")
            for each in data["evidence"]:
                yield from hanging("  -", printable(each, _LONGEST), width, "    ")
            if data["remedy"]:
                yield from Remedy(one.remedy).lines("  do:", width, "    ")
        if self.is_well:
            yield from lines_of_unread(unread, width)


class Neighbour(NamedTuple):
    """A pod on the node of another. `context` is None for a malformed pod."""

    pod: Object
    context: PodContext | None

    def __str__(self) -> str:
        return f"pod {word(self.pod, 'metadata', 'namespace')}/{word(self.pod, 'metadata', 'name')}"


class Log(NamedTuple):
    """The end of a container's log."""

    container: str
    text: str


@dataclass(frozen=True, slots=True)
class Around:
    """What surrounds a pod. None where it was not read, because the state needs none of it, or rights lack.

    `context` decides about the pod as it is, with the nodes of `facts`. `node` is that of a bound pod, empty if this
    node does not exist; `neighbours` are the pods on it. `chains` are those of the nodes that could take the pod but
    offer too little, the likeliest first, or that of its node.
    """

    facts: Facts = field(default_factory=Facts)
    context: PodContext | None = None
    held: Held = UNKNOWN_HOLDERS
    node: Object | None = None
    neighbours: Sequence[Neighbour] | None = None
    log: Log | None = None
    chains: Sequence[Chain] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """An object that a user asks about.

    `pod` is the object itself, or the pod of a workload that shows most of what is wrong; None for a workload without
    one. `makers` are the workload and the objects between it and its pods, by kind, the topmost first; for a pod, those
    that control it. `events` are those of the pod, `events_of_makers` those of the makers, the newest first.
    `is_saved`: the objects are those of files, which may hold only some of a kind.
    """

    of: Reference
    found: Object
    settings: Settings
    pod: Object | None = None
    makers: Sequence[tuple[str, Object]] = ()
    events: Sequence[Event] = ()
    events_of_makers: Sequence[Event] = ()
    around: Around = field(default_factory=Around)
    is_saved: bool = False

    @property
    def top(self) -> tuple[str, Object]:
        """The topmost known object that makes the pod, with its kind; the object itself where none does."""
        return self.makers[0] if self.makers else (self.of.kind, self.found)

    @property
    def to_edit(self) -> list[Word | str]:
        """The object whose template a user edits to change the pod, as `kubectl edit` takes it."""
        kind, found = self.top
        place, name = word(found, "metadata", "namespace") or self.of.namespace, name_of(found)
        hashed = f"-{word(self.pod, 'metadata', 'labels', 'pod-template-hash')}"
        if kind == "ReplicaSet" and hashed != "-" and name.endswith(hashed):  # that of a Deployment that was not read
            kind, name = "Deployment", name.removesuffix(hashed)
        return [reference(kind, name), *within(place)]

    @property
    def edit(self) -> Remedy:
        """How a user changes the pod: through what makes it. The spec of a pod, and of a Job, cannot be changed."""
        owner = owner_of(self.pod) if self.of.kind == "Pod" and not self.makers else None
        if owner is not None:
            return self.remedy("`kubectl edit {owner} {ns}`", owner=[reference(owner.kind, owner.name)])
        if self.top[0] in ("Pod", "Job"):
            return self.remedy(
                "edit the manifest, then `kubectl replace --force -f FILE`, which ends the program and creates the "
                "object again"
            )
        return self.remedy("`kubectl edit {object}`")

    @property
    def again(self) -> Remedy:
        """How to start the pod again. A failed pod does not restart, and a controller replaces a deleted one."""
        return self.remedy(
            "`kubectl delete pod {pod}`" if self.makers else "`kubectl delete pod {pod}`, then create it again"
        )

    @property
    def of_daemon(self) -> Remedy:
        """What helps where the MPS control daemon may be down: what is broken on its node, or how to look at it."""
        broken = next((one.broken for one in self.around.chains if one.broken is not None), None)
        if broken is not None:
            return Remedy(broken.remedy)
        node = named("node", self.node_name)
        return self.remedy(
            "`kubectl get pods -A --field-selector {on}` shows whether the MPS control daemon of the node runs",
            on=[node._replace(text=f"spec.nodeName={node.text}")],
        )

    @property
    def node_name(self) -> str:
        """The node that the pod is bound to; empty for none."""
        return word(self.pod, "spec", "nodeName")

    @property
    def namespace(self) -> str:
        """The namespace of the object."""
        return self.of.namespace

    def remedy(self, template: str, **names: str | list[Any]) -> Remedy:
        """Fill a template of a remedy, whose names are keywords or those of `_OWN`."""
        return filled(template, lambda name: names[name] if name in names else _OWN[name](self))


_OWN: Final[Mapping[str, Callable[[Case], str | list[Any]]]] = {
    "pod": lambda case: [named("pod", name_of(case.pod)), *within(case.namespace)],
    "node": lambda case: case.node_name,
    "namespace": lambda case: case.namespace,
    "ns": lambda case: within(case.namespace),
    "object": lambda case: case.to_edit,
    "edit": lambda case: [case.edit],
    "again": lambda case: [case.again],
    "daemon": lambda case: [case.of_daemon],
}
"""The names of every template: the pod and the object to edit with the options of their namespaces, and remedies."""


class Row(NamedTuple):
    """A cause that the words of a message show. Groups of `words` are names in its summary and its remedy."""

    cause: str
    words: re.Pattern[str]
    summary: str
    remedy: str


def row(cause: str, words: str, summary: str, remedy: str) -> Row:
    """A row of a table of causes."""
    return Row(cause, re.compile(words, re.ASCII | re.IGNORECASE | re.DOTALL), summary, remedy)


def by_words(case: Case, rows: Iterable[Row], said: str, evidence: Sequence[str], /, **names: Any) -> Iterator[Cause]:
    """The cause of the first row whose words are in a message, if there is one."""
    for one in rows:
        if (found := one.words.search(said)) is not None:
            names |= {key: value for key, value in found.groupdict().items() if value is not None}
            summary = one.summary.format(node=case.node_name, **names)
            yield Cause(one.cause, summary, evidence, one.remedy, names)
            return


def amounts(pod: Object | None) -> Iterator[tuple[str, str, int]]:
    """The extended resources that containers ask for: the container, the name, and whole units."""
    for key in ("initContainers", "containers"):
        for one in entries(pod, "spec", key):
            limits, requests = part(one, "resources", "limits"), part(one, "resources", "requests")
            for name, value in {**requests, **limits}.items():
                units = -(-parse_or_zero(value) // NANO)
                if "/" in name and units:
                    yield word(one, "name"), name, units
