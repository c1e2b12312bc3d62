"""What is known about the object of a question: what the decisions read, and nothing that they would have to fetch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from webhook.live.pods import Holding, controller
from webhook.live.why.cause import Reference
from webhook.live.why.event import Event
from webhook.live.why.reading import Object, entries, part, word
from webhook.policy.context import Origin, PodContext
from webhook.policy.evaluate import Evaluator
from webhook.policy.placement.cluster_objects import Node
from webhook.policy.placement.facts import Facts
from webhook.policy.pods.quantity import NANO, QuantityError, parse
from webhook.policy.pods.reading import MalformedError
from webhook.policy.settings.settings import Settings


class Neighbour(NamedTuple):
    """A pod on the node of another. `context` is None unless it asks for an extended resource."""

    pod: Object
    context: PodContext | None


class Held(NamedTuple):
    """Who holds replicas, by node and resource. `is_complete`: all pods of these nodes could be read."""

    by_node: Mapping[tuple[str, str], Sequence[Holding]]
    is_complete: bool


@dataclass(frozen=True, slots=True)
class Log:
    """The end of a container's log."""

    container: str
    text: str


@dataclass(frozen=True, slots=True)
class Around:
    """What surrounds a pod. None where it was not read, because the state needs none of it, or rights lack.

    `context` decides about the pod as it is, with the nodes of `facts`. `node` is that of a bound pod, `is_gone` that
    this node does not exist, `neighbours` are the pods on it.
    """

    facts: Facts = field(default_factory=Facts)
    context: PodContext | None = None
    held: Held | None = None
    node: Object | None = None
    known_node: Node | None = None
    is_gone: bool = False
    neighbours: Sequence[Neighbour] | None = None
    log: Log | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """An object that a user asks about.

    `pod` is the object itself, or the pod of a workload that shows most of what is wrong; None for a workload without
    one. `makers` are the workload and the objects between it and its pods, by kind, the topmost first; for a pod, those
    that control it. `events` are those of the pod, `events_of_makers` those of the makers, the newest first.
    """

    of: Reference
    found: Object
    settings: Settings
    pod: Object | None = None
    makers: Sequence[tuple[str, Object]] = ()
    events: Sequence[Event] = ()
    events_of_makers: Sequence[Event] = ()
    around: Around = field(default_factory=Around)

    @property
    def to_edit(self) -> str:
        """The object whose template a user edits to change the pod, as `kubectl edit` takes it."""
        kind, found = self.makers[0] if self.makers else (self.of.kind, self.found)
        namespace = word(found, "metadata", "namespace") or self.of.namespace
        return f"{kind.lower()}/{word(found, 'metadata', 'name')} -n {namespace}"

    @property
    def edit(self) -> str:
        """How a user changes the pod: through what makes it. The spec of a pod, and of a Job, cannot be changed."""
        owner = controller(part(self.pod, "metadata")) if self.of.kind == "Pod" and not self.makers else None
        if owner is not None:
            return f"kubectl edit {owner.kind.lower()}/{owner.name} -n {self.namespace}"
        if self.to_edit.startswith(("pod/", "job/")):
            return "edit the manifest, then kubectl replace --force -f FILE"
        return f"kubectl edit {self.to_edit}"

    @property
    def pod_name(self) -> str:
        """The name of the pod; empty without one."""
        return word(self.pod, "metadata", "name")

    @property
    def namespace(self) -> str:
        """The namespace of the object."""
        return self.of.namespace


def amounts(pod: Object) -> Iterator[tuple[str, str, int]]:
    """The extended resources that containers ask for: the container, the name, and whole units."""
    for key in ("initContainers", "containers"):
        for one in entries(pod, "spec", key):
            limits, requests = part(one, "resources", "limits"), part(one, "resources", "requests")
            for name, value in {**requests, **limits}.items():
                units = _units(value)
                if "/" in name and units:
                    yield word(one, "name"), name, units


def _units(value: object) -> int:
    try:
        return -(-parse(value) // NANO)
    except QuantityError:
        return 0


def contexts_of(pods: Sequence[Object], settings: Settings, facts: Facts) -> list[PodContext | None]:
    """The context in which each pod that exists is checked as it is, without any edit; None for a malformed pod."""
    evaluator = Evaluator.of(settings, facts)
    return [_context(pod, evaluator) for pod in pods]


def _context(pod: Object, evaluator: Evaluator) -> PodContext | None:
    origin = Origin(word(pod, "metadata", "namespace"), is_final_hook=True, is_update=True, groups=())
    try:
        found = evaluator.pods(pod, "", "Pod")
        context = evaluator.context(found[0], origin) if found else None
    except MalformedError:
        return None
    if context is not None:
        context.leave_as_received()
    return context
