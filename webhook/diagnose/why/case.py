"""A question's object with what is known about it, its causes, and the answer that lists them.

The decisions read a case, and nothing that they would have to fetch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, NamedTuple

from webhook.cluster.reading import Object, word
from webhook.diagnose.answer import code, lines_of_unread
from webhook.diagnose.chain import UNKNOWN_HOLDERS, Chain, Held
from webhook.diagnose.finding import Finding, Remedy, filled, named, reference, within
from webhook.diagnose.why.state import Event, name_of, node_name
from webhook.policy.context import PodContext
from webhook.policy.messages import Word, printable
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.settings import Settings
from webhook.report.exit_codes import ExitCode

_WELL: Final = ("nothing-wrong", "completed")
"""The causes that say that nothing is wrong."""

_FIELDS: Final = {"cause": "finding", "summary": "cause", **{key: key for key in ("evidence", "remedy", "commands")}}
"""The fields of a cause in the report, by those of a finding."""


class Reference(NamedTuple):
    """The object of a question."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind.lower()} {where}"


@dataclass(frozen=True, slots=True)
class Why:
    """The answer: at least one cause."""

    kind: ClassVar[str] = "WhyReport"

    of: Reference
    state: str
    causes: Sequence[Finding]

    def as_data(self) -> dict[str, Any]:
        causes = [one.as_data() for one in self.causes]
        causes = [{key: one[own] for key, own in _FIELDS.items()} for one in causes]
        return {"object": self.of._asdict(), "state": self.state, "causes": causes}

    @property
    def is_well(self) -> bool:
        """Whether no cause says that something is wrong."""
        return all(one.severity == "info" for one in self.causes)

    def exit_code(self, unread: int) -> ExitCode:
        """Return the exit code. A cause is one, whatever else could not be read."""
        return code(unread) if self.is_well else ExitCode.DENIED

    def lines(self, width: int | None, unread: int = 0) -> Iterator[str]:
        for index, one in enumerate(self.causes):
            head = "also:" if index else f"{printable(str(self.of))} is {printable(self.state)}:"
            yield from one.lines(head, width)
        if self.is_well:
            yield from lines_of_unread(unread, width)


class Log(NamedTuple):
    """The end of a container's log."""

    container: str
    text: str


@dataclass(frozen=True, slots=True)
class Case:
    """An object that a user asks about.

    `pod` is the object itself, or the pod of a workload that shows most of what is wrong; empty for a workload without
    one. `makers` are the workload and the objects between it and its pods, by kind, the topmost first; for a pod, those
    that control it. `events` are those of the pod, `events_of_makers` those of the makers, the newest first.
    `is_saved`: the objects are those of files, which may hold only some of a kind. `queued` is the Workload of Kueue
    for a held object, empty without one. `gang` is the PodGroup for which the scheduler waits, empty where it is not
    known and None where it does not exist, and how many of its pods exist.

    The rest surrounds the pod. None where it was not read, because the state needs none of it, or rights lack.
    `context` decides about the pod as it is, with the nodes of `facts`. `node` is that of a bound pod, empty if this
    node does not exist; `neighbours` are the pods on it, each with its context unless it is malformed. `chains` are
    those of the nodes that could take the pod but offer too little, the likeliest first, or that of its node.
    """

    of: Reference
    found: Object
    settings: Settings
    pod: Object = field(default_factory=dict)
    makers: Sequence[tuple[str, Object]] = ()
    events: Sequence[Event] = ()
    events_of_makers: Sequence[Event] = ()
    is_saved: bool = False
    queued: Object = field(default_factory=dict)
    gang: tuple[Object | None, int] = ({}, 0)
    facts: Facts = field(default_factory=Facts)
    context: PodContext | None = None
    held: Held = UNKNOWN_HOLDERS
    node: Object | None = None
    neighbours: Sequence[tuple[str, PodContext | None]] | None = None
    log: Log | None = None
    chains: Sequence[Chain] = ()

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
        broken = next((one.broken for one in self.chains if one.broken is not None), None)
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
        return node_name(self.pod)

    def event(self, *reasons: str, text: str = "") -> Event:
        """The newest event with one of these reasons and a text in its message; an empty one if there is none."""
        events = (*self.events, *self.events_of_makers)
        return next((one for one in events if one.reason in reasons and text in one.message), Event())

    def remedy(self, template: str, **names: str | list[Any]) -> Remedy:
        """Fill a template of a remedy, whose names are keywords or those of `_OWN`."""
        return filled(template, lambda name: names[name] if name in names else _OWN[name](self))

    def cause(
        self, name: str, summary: str, evidence: Sequence[str] = (), remedy: str | Remedy = "", /, **names: Any
    ) -> Finding:
        """A cause. A remedy that is text is a template."""
        remedy = self.remedy(remedy, **names) if isinstance(remedy, str) else remedy
        return Finding(name, "info" if name in _WELL else "error", str(self.of), summary, evidence, remedy)


_OWN: Final[Mapping[str, Callable[[Case], str | list[Any]]]] = {
    "pod": lambda case: [named("pod", name_of(case.pod)), *within(case.of.namespace)],
    "node": lambda case: case.node_name,
    "namespace": lambda case: case.of.namespace,
    "ns": lambda case: within(case.of.namespace),
    "object": lambda case: case.to_edit,
    "edit": lambda case: [case.edit],
    "again": lambda case: [case.again],
    "daemon": lambda case: [case.of_daemon],
}
"""The names of every template: the pod and the object to edit with the options of their namespaces, and remedies."""


Helps = str | Callable[[Case, str], str | Remedy]
"""The template of a remedy, or what returns one, or a remedy, for a container."""


class Row(NamedTuple):
    """A cause that the words of a message show. Groups of `words` are names in its summary and its remedy."""

    cause: str
    words: str
    summary: str
    remedy: Helps

    def search(self, said: str) -> re.Match[str] | None:
        """The words in a message."""
        return re.search(self.words, said, re.ASCII | re.IGNORECASE | re.DOTALL)

    def found(self, case: Case, summary: str, evidence: Sequence[str] = (), **names: Any) -> Finding:
        """The cause. The container is among the names if the remedy depends on it."""
        remedy = self.remedy if isinstance(self.remedy, str) else self.remedy(case, names["container"])
        return case.cause(self.cause, summary, evidence, remedy, **names)


def by_words(case: Case, rows: Iterable[Row], said: str, evidence: Sequence[str], /, **names: Any) -> Iterator[Finding]:
    """The cause of the first row whose words are in a message, if there is one."""
    for one in rows:
        if (found := one.search(said)) is not None:
            names |= {key: value for key, value in found.groupdict().items() if value is not None}
            summary = one.summary.format(node=case.node_name, **names)
            yield one.found(case, summary, evidence, **names)
            return
