"""A cluster as `doctor` sees it: the GPU stack, our installations, and what matters of pods, as far as rights allow."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, NamedTuple

from webhook.cluster.followed import KEY
from webhook.cluster.installations import HOOKS, Hook, Installation, read_installations
from webhook.cluster.objects import (
    DAEMON_SET,
    DEPLOYMENT,
    EVENT,
    LIMIT_RANGE,
    NODE,
    POD,
    QUOTA,
    LeftOut,
    Objects,
    ObjectsWithMetrics,
    all_of,
)
from webhook.cluster.reading import FINISHED, entries, part, word
from webhook.cluster.stack import MOST_DETAIL, Program, ProgramPod, Role, SeenNode, program_pod, role_of, seen_node
from webhook.cluster.trusted import Part, Stack, configurations_of, named, programs_of, trust
from webhook.diagnose.owners import Owners
from webhook.diagnose.pods import LivePod, live_pod
from webhook.diagnose.sharing import CLOSED
from webhook.diagnostics import Diagnostic, InputError
from webhook.dryrun.files import parse
from webhook.guard import why_absent
from webhook.policy.checks import gps032_quota
from webhook.policy.messages import cut
from webhook.policy.placement.facts import Facts
from webhook.policy.pods.gpu_resources import GpuResources
from webhook.policy.pods.reading import MalformedError
from webhook.policy.settings.settings import Settings
from webhook.policy.verdict import Violation
from webhook.settings.load import load
from webhook.settings.members import write


class SeenPod(NamedTuple):
    """A pod that asks for GPUs, was rejected, or waits with a RuntimeClass.

    `message` is that of its status, where it was rejected.
    """

    pod: LivePod
    runtime_class: str
    message: str

    @property
    def asks(self) -> bool:
        """Whether it asks for GPUs, and has not ended."""
        return bool(self.pod.requests) and self.pod.phase not in FINISHED


class SeenEvent(NamedTuple):
    """An event about a pod, or about the controller of pods that cannot be created."""

    reason: str
    namespace: str
    kind: str
    name: str
    message: str


class Limits(NamedTuple):
    """A ResourceQuota or a LimitRange in which GPS032 finds something."""

    kind: str
    namespace: str
    name: str
    violations: Sequence[Violation]


@dataclass(frozen=True)
class Seen(Stack):
    """Everything that was read of a cluster.

    `others` are programs of the GPU stack that do not count, and `other_pods` their pods. `unlinked` names
    Deployments that have the label of this webhook and that nothing calls. `closed` says why nodes take no new pods.
    """

    settings: Settings
    now: datetime
    others: Sequence[Program]
    other_pods: Sequence[ProgramPod]
    pods: Sequence[SeenPod]
    events: Iterable[SeenEvent]
    limits: Sequence[Limits]
    installations: Sequence[Installation]
    hooks: Sequence[Hook]
    unlinked: Sequence[str]
    closed: Mapping[str, str]


async def gather(
    objects: ObjectsWithMetrics,
    settings: Settings,
    facts: Facts,
    namespace: str | None,
    installed_as: str | None,
    plugin: str | None,
) -> Seen:
    """Read a cluster. `namespace` limits the pods, and what belongs to pods, to one namespace.

    `plugin` is `namespace/name` of the DaemonSet of the device plugin; None if the caller does not name it. Raises
    InputError if there is no such DaemonSet.
    """
    installed = await read_installations(objects, installed_as, lambda where, text: parse(where, text, load).settings)
    known = [one.settings for one in installed.installations if one.settings is not None]
    settings = known[0] if known else settings
    if known or not (installed.installations or any(map(objects.lacks, (DEPLOYMENT, *HOOKS.values())))):
        # The caller looked for the usual installation only. Without any, a finding says so.
        objects.left_out[:] = [one for one in objects.left_out if one.what != "settings"]
    if unknown := [one for one in installed.installations if one.settings is None]:
        objects.left_out.append(LeftOut("settings", _why_unknown(unknown[0])))
    gpus = GpuResources(settings.resources)
    with_gpus: list[SeenNode] = []
    closed: dict[str, str] = {}
    async for found in all_of(objects, NODE):
        with_gpus += [one] if (one := seen_node(found, gpus)) is not None else []
        keys = {taint.get("key") for taint in entries(found, "spec", "taints")}
        closed |= {word(found, "metadata", "name"): why for key, why in CLOSED.items() if key in keys}
    nodes = sorted(with_gpus, key=lambda one: one.name)
    stack = [one async for one in programs_of(objects)]
    if plugin is not None and not objects.lacks(DAEMON_SET) and all(str(one) != plugin for one in stack):
        problem = f"no DaemonSet {plugin} has a container of the GPU stack"
        raise InputError([Diagnostic("--device-plugin-daemonset", 0, 0, problem)])
    of_stack, pods = await _pods(objects, gpus, namespace, {one.namespace for one in stack})
    administered = {*named(settings, plugin), *(one.namespace for one in installed.installations)}
    trusted = trust(administered, facts.namespaces or (), nodes, stack, of_stack)
    programs = [one for one in stack if trusted.counts(one.namespace)]
    offered = {name for node in nodes for name in node.offered}
    lacking: dict[Part, str] = {}
    seen = Seen(
        trusted,
        nodes,
        programs,
        [one for one in of_stack if trusted.counts(one.namespace)],
        await configurations_of(objects, programs),
        facts,
        lacking,
        settings,
        datetime.now(UTC),
        [one for one in stack if not trusted.counts(one.namespace)],
        [one for one in of_stack if not trusted.counts(one.namespace)],
        pods,
        await _events(objects, namespace),
        [one async for one in _limits(objects, gpus, offered, namespace)],
        *installed,
        closed,
    )
    lacking |= dict(_lacking(objects, seen, namespace, installed_as))
    return seen


async def _pods(
    objects: ObjectsWithMetrics, gpus: GpuResources, namespace: str | None, of_stack: Set[str]
) -> tuple[list[ProgramPod], list[SeenPod]]:
    """Read the pods of the GPU stack, also those in other namespaces `of_stack`, and the others that matter."""
    programs: list[ProgramPod] = []
    found: list[SeenPod] = []
    for place in [None] if namespace is None else sorted({namespace, *of_stack}):
        async for one in all_of(objects, POD, place):
            role, is_finished = role_of(part(one, "spec")), word(one, "status", "phase") in FINISHED
            if role is not None:
                programs += [] if is_finished else [program_pod(one, role)]
            elif place == namespace:
                pod, runtime_class = live_pod(one, gpus.find), word(one, "spec", "runtimeClassName")
                message = cut(word(one, "status", "message"), MOST_DETAIL) if pod.was_rejected else ""
                matters = bool(pod.requests) or (runtime_class and pod.phase == "Pending")
                if pod.was_rejected or (matters and not is_finished):
                    found.append(SeenPod(pod, runtime_class, message))
    owners = await Owners.read(objects, namespace) if any(one.pod.was_rejected for one in found) else Owners({})
    return programs, [one._replace(pod=replace(one.pod, owner=owners.top(one.pod))) for one in found]


_MOST_EVENTS: Final = 100
"""Events of one namespace that are kept."""

_LONGEST_MESSAGE: Final = 1024
"""Characters of an event's message, which is as long at most (kubernetes pkg/apis/core/validation/events.go)."""


async def _events(objects: ObjectsWithMetrics, namespace: str | None) -> Iterable[SeenEvent]:
    """Events about runtime classes and handlers, so many of each namespace: others keep theirs, whatever one writes."""
    found: dict[SeenEvent, None] = {}
    kept: Counter[str] = Counter()
    for reason in ("FailedCreatePodSandBox", "FailedCreate"):
        async for one in all_of(objects, EVENT, namespace, fieldSelector=f"reason={reason}"):
            event = SeenEvent(
                word(one, "reason"),
                word(one, "metadata", "namespace"),  # that of the object may be another's
                word(one, "involvedObject", "kind"),
                word(one, "involvedObject", "name"),
                cut(word(one, "message"), _LONGEST_MESSAGE),
            )
            is_about = "runtime" in event.message.lower() or "violates PodSecurity" in event.message
            if event.reason == reason and is_about and event not in found and kept[event.namespace] < _MOST_EVENTS:
                kept[event.namespace] += 1
                found[event] = None
    return found


async def _limits(
    objects: ObjectsWithMetrics, gpus: GpuResources, offered: Set[str], namespace: str | None
) -> AsyncIterator[Limits]:
    for kind, noun in ((QUOTA, "ResourceQuota"), (LIMIT_RANGE, "LimitRange")):
        async for one in all_of(objects, kind, namespace):
            try:
                violations = list(gps032_quota.run(gps032_quota.NamespaceLimits(one, noun, gpus, offered)))
            except MalformedError:  # the API server checks both kinds
                continue
            if violations:
                yield Limits(noun, word(one, "metadata", "namespace"), word(one, "metadata", "name"), violations)


def _why_unknown(one: Installation) -> str:
    """Why the settings of an installation are unknown."""
    return one.problem or f"ConfigMap {one} cannot be read or has no key {KEY}"


def _lacking(
    objects: Objects, seen: Seen, namespace: str | None, installed_as: str | None
) -> Iterator[tuple[Part, str]]:
    """Why parts of the cluster are not known."""
    installations = seen.installations
    has_deployment = any(one.deployment for one in installations)
    is_hidden = objects.lacks(DEPLOYMENT) and not has_deployment
    is_hidden |= objects.hides(DEPLOYMENT, *(installed_as or "/").split("/", 1))
    parts: tuple[tuple[Part, bool, str], ...] = (
        ("nodes", objects.lacks(NODE), "nodes cannot be read"),
        ("daemonsets", objects.lacks(DAEMON_SET), "daemonsets cannot be read"),
        ("pods", objects.lacks(POD, namespace), "pods cannot be read"),
        ("events", objects.lacks(EVENT, namespace), "events cannot be read"),
        ("quotas", objects.lacks(QUOTA, namespace), "resourcequotas cannot be read"),
        ("quotas", objects.lacks(LIMIT_RANGE, namespace), "limitranges cannot be read"),
        ("namespaces", seen.facts.namespaces is None, "namespaces cannot be read"),
        ("runtime classes", seen.facts.runtime_classes is None, "runtimeclasses cannot be read"),
        (
            "configurations",
            any(one.config_map and one.maps not in seen.configurations for one in seen.of(Role.PLUGIN)),
            "the ConfigMap of the device plugin cannot be read",
        ),
        (
            "webhook configurations",
            not seen.hooks and any(map(objects.lacks, HOOKS.values())),
            "webhook configurations cannot be read",
        ),
        ("installation", is_hidden, "deployments cannot be read"),
        ("endpoints", any(one.endpoints is None for one in installations), "endpointslices cannot be read"),
        (
            "certificates",
            has_deployment and not any(each.ends for one in installations for each in one.replicas),
            "no replica says when its certificate ends: allow get of pods/proxy, and name the installation with "
            "--installed-as if no webhook configuration calls it",
        ),
    )
    yield from ((own, why) for own, is_unknown, why in parts if is_unknown)
    for one in reversed(installations):  # the first one counts
        if one.settings is None:
            yield "settings", _why_unknown(one)
        elif not one.settings.guard.enabled:
            reason = why_absent(write(one.settings), asked=False)
            yield "guard", f"there is none, because {reason or 'its settings have no guard.enabled'}"
