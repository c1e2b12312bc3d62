"""What is known about the object of a question: what the decisions read, and nothing that they would have to fetch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from webhook.cluster.reading import Object, controller, entries, part, word
from webhook.diagnose.chain import Chain, Held
from webhook.diagnose.remedy import Advice, Remedy
from webhook.diagnose.why.cause import Reference
from webhook.diagnose.why.event import Event
from webhook.diagnose.words import named, reference, within
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.commands import Command, Word
from webhook.policy.context import PodContext, RequestContext
from webhook.policy.placement.cluster_objects import Node
from webhook.policy.placement.facts import Facts
from webhook.policy.pods.quantity import NANO, QuantityError, parse
from webhook.policy.pods.reading import MalformedError
from webhook.policy.settings.settings import Settings

DOCTOR: Final = Command("kubectl", "gpushare", "doctor")
HOLDERS: Final = Command("kubectl", "gpushare", "top", "-A")
"""Shows who holds replicas."""


def describe_node(name: str) -> Command:
    """The command that shows a node."""
    return Command("kubectl", "describe", "node", named("node", name))


class Neighbour(NamedTuple):
    """A pod on the node of another. `context` is None unless it asks for an extended resource."""

    pod: Object
    context: PodContext | None


UNKNOWN_HOLDERS: Final = Held({}, is_complete=False)


class Log(NamedTuple):
    """The end of a container's log."""

    container: str
    text: str


@dataclass(frozen=True, slots=True)
class Around:
    """What surrounds a pod. None where it was not read, because the state needs none of it, or rights lack.

    `context` decides about the pod as it is, with the nodes of `facts`. `node` is that of a bound pod, `is_gone` that
    this node does not exist, `neighbours` are the pods on it. `chains` are those of the nodes that could take the pod
    but offer too little, the likeliest first, or that of its node.
    """

    facts: Facts = field(default_factory=Facts)
    context: PodContext | None = None
    held: Held = UNKNOWN_HOLDERS
    node: Object | None = None
    known_node: Node | None = None
    is_gone: bool = False
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
    def to_edit(self) -> tuple[Word | str, ...]:
        """The object whose template a user edits to change the pod, as `kubectl edit` takes it."""
        kind, found = self.top
        place, name = word(found, "metadata", "namespace") or self.of.namespace, word(found, "metadata", "name")
        hashed = f"-{word(self.pod, 'metadata', 'labels', 'pod-template-hash')}"
        if kind == "ReplicaSet" and hashed != "-" and name.endswith(hashed):  # that of a Deployment that was not read
            kind, name = "Deployment", name.removesuffix(hashed)
        return reference(kind, name), *within(place)

    @property
    def edit(self) -> Advice:
        """How a user changes the pod: through what makes it. The spec of a pod, and of a Job, cannot be changed."""
        owner = controller(part(self.pod, "metadata")) if self.of.kind == "Pod" and not self.makers else None
        if owner is not None:
            return self.kubectl("edit", reference(owner.kind, owner.name))
        if self.top[0] in ("Pod", "Job"):
            replace = Command("kubectl", "replace", "--force", "-f", "FILE")
            return Remedy("edit the manifest, then ", replace, ", which ends the program and creates the object again")
        return Command("kubectl", "edit", *self.to_edit)

    def by_edit(self, change: str) -> Remedy:
        """A change of the pod, and how a user edits it."""
        return Remedy(change, ": ", self.edit)

    def kubectl(self, *words: Word | str) -> Command:
        """A command of kubectl in the namespace of the object."""
        return Command("kubectl", *words, *within(self.namespace))

    def of_pod(self, *verb: str) -> Command:
        """A command of kubectl about the pod."""
        return Command("kubectl", *verb, "pod", *self.pod_words)

    @property
    def again(self) -> Advice:
        """How to start the pod again. A failed pod does not restart, and a controller replaces a deleted one."""
        delete = self.of_pod("delete")
        return delete if self.makers else Remedy(delete, ", then create it again")

    @property
    def of_daemon(self) -> Advice:
        """What helps where the MPS control daemon may be down: what is broken on its node, or how to look at it."""
        broken = next((one.broken for one in self.around.chains if one.broken is not None), None)
        if broken is not None:
            return broken.remedy
        node = named("node", self.node_name)
        selector = node._replace(text=f"spec.nodeName={node.text}")
        listed = Command("kubectl", "get", "pods", "-A", "--field-selector", selector)
        return Remedy(listed, " shows whether the MPS control daemon of the node runs")

    @property
    def node_name(self) -> str:
        """The node that the pod is bound to; empty for none."""
        return word(self.pod, "spec", "nodeName")

    @property
    def pod_name(self) -> str:
        """The name of the pod; empty without one."""
        return word(self.pod, "metadata", "name")

    @property
    def pod_words(self) -> tuple[Word | str, ...]:
        """The pod as words of a command."""
        return named("pod", self.pod_name), *within(self.namespace)

    @property
    def namespace(self) -> str:
        """The namespace of the object."""
        return self.of.namespace


def amounts(pod: Object | None) -> Iterator[tuple[str, str, int]]:
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
    evaluator = OfflineEvaluator.of(settings, facts)
    return [_context(pod, evaluator) for pod in pods]


def _context(pod: Object, evaluator: OfflineEvaluator) -> PodContext | None:
    origin = RequestContext(word(pod, "metadata", "namespace"), is_final_hook=True, is_update=True, groups=())
    policy = evaluator.snapshot.of(origin.namespace)
    try:
        found = evaluator.pods(pod, "", "Pod")
        return PodContext(found[0], origin, policy, tolerates=False) if found else None
    except MalformedError:
        return None
