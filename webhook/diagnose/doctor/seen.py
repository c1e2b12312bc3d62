"""A cluster as `doctor` sees it: the GPU stack, our installations, and what matters of pods, as far as rights allow."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence, Set
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
    POLICY,
    POLICY_BINDING,
    QUOTA,
    SERVICE_ACCOUNT,
    Kind,
    LeftOut,
    Objects,
    all_of,
)
from webhook.cluster.reading import FINISHED, Owner, entries, part, word
from webhook.cluster.stack import MOST_DETAIL, Program, ProgramPod, Role, SeenNode, program_pod, role_of, seen_node
from webhook.cluster.trusted import Part, Stack, configurations_of, named, programs_of, trust
from webhook.diagnose.pods import HOLDING, NODE_SHAPE, LivePod, Owners, live_pod, requests_of, was_rejected
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
    """What an event says about a pod, or about the topmost owner of pods that cannot be created.

    `said` is one of `_EVENTS`, and `name` that of the class or the handler which is missing.
    """

    said: str
    namespace: str
    about: Owner
    name: str


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
    events: Sequence[SeenEvent]
    limits: Sequence[Limits]
    installations: Sequence[Installation]
    hooks: Sequence[Hook]
    unlinked: Sequence[str]
    closed: Mapping[str, str]


async def gather(
    objects: Objects,
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
    settings = _settings(objects, installed.installations, settings)
    gpus = GpuResources(settings.resources)
    nodes, closed = await _nodes(objects, gpus)
    stack = [one async for one in programs_of(objects)]
    if plugin is not None and not objects.lacks(DAEMON_SET) and all(str(one) != plugin for one in stack):
        problem = f"no DaemonSet {plugin} has a container of the GPU stack"
        raise InputError([Diagnostic("--device-plugin-daemonset", 0, 0, problem)])
    of_stack, pods = await _pods(objects, gpus, namespace, {one.namespace for one in stack})
    events = await _events(objects, namespace)
    classes = {"", *(one.name for one in facts.runtime_classes or ())}
    if events or any(one.pod.was_rejected or one.runtime_class not in classes for one in pods):
        owners = await Owners.read(objects, namespace)
        pods = [one._replace(pod=replace(one.pod, owner=owners.top(one.pod))) for one in pods]
        events = [one._replace(about=owners.above(one.namespace, one.about)) for one in events]
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
        events,
        [one async for one in _limits(objects, gpus, offered, namespace)],
        *installed,
        closed,
    )
    lacking |= dict(_lacking(objects, seen, namespace, installed_as))
    return seen


def _settings(objects: Objects, installations: Sequence[Installation], settings: Settings) -> Settings:
    """The settings of the first installation that has some, or else those of the caller.

    What is left out is what these lack. Settings that are refused are read, and a finding says why.
    """
    known = [one.settings for one in installations if one.settings is not None]
    is_searched = installations or not any(map(objects.lacks, (DEPLOYMENT, *HOOKS.values())))
    if known or (is_searched and all(one.problem for one in installations)):
        # The caller looked for the usual installation only. Without any, a finding says so.
        objects.left_out[:] = [one for one in objects.left_out if one.what != "settings"]
    for one in installations:
        if one.settings is None:
            objects.left_out.append(LeftOut("settings", _why_unknown(one), matters=not one.problem))
    return next(iter(known), settings)


async def _nodes(objects: Objects, gpus: GpuResources) -> tuple[list[SeenNode], dict[str, str]]:
    """The nodes with GPUs by name, and why nodes take no new pods."""
    with_gpus: list[SeenNode] = []
    closed: dict[str, str] = {}
    async for found in all_of(objects, NODE, None, NODE_SHAPE):
        with_gpus += [one] if (one := seen_node(found, gpus)) is not None else []
        keys = {taint.get("key") for taint in entries(found, "spec", "taints")}
        closed |= {word(found, "metadata", "name"): why for key, why in CLOSED.items() if key in keys}
    return sorted(with_gpus, key=lambda one: one.name), closed


async def _pods(
    objects: Objects, gpus: GpuResources, namespace: str | None, of_stack: Set[str]
) -> tuple[list[ProgramPod], list[SeenPod]]:
    """Read the pods of the GPU stack, also those in other namespaces `of_stack`, and the others that matter."""
    programs: list[ProgramPod] = []
    found: list[SeenPod] = []
    for place in [None] if namespace is None else sorted({namespace, *of_stack}):
        async for one in all_of(objects, POD, place, HOLDING):
            role, phase = role_of(part(one, "spec")), word(one, "status", "phase")
            is_finished = phase in FINISHED
            if role is not None:
                programs += [] if is_finished else [program_pod(one, role)]
            elif place == namespace:
                runtime_class, is_rejected = word(one, "spec", "runtimeClassName"), was_rejected(one)
                waits = runtime_class and phase == "Pending"
                if is_rejected or (not is_finished and (waits or requests_of(one, gpus.find))):
                    message = cut(word(one, "status", "message"), MOST_DETAIL) if is_rejected else ""
                    found.append(SeenPod(live_pod(one, gpus.find), runtime_class, message))
    return programs, found


_LONGEST: Final = 1024
"""Characters of the message of an event that are searched; client-go's writers cut longer ones (tools/record)."""

_MOST_EVENTS: Final = 100
"""Events of one namespace that are kept."""

_NAME: Final = r"\"?([a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?)\"?"
_NO_HANDLER: Final = re.compile(rf"no runtime for {_NAME} is configured|find runtime handler {_NAME} from")
"""The words of containerd (internal/cri/config, `GetSandboxRuntime`) and of CRI-O (server, `getRuntimeHandler`)."""

_NO_CLASS: Final = re.compile(rf"RuntimeClass {_NAME} not found|runtimeclass(?:es)?\.node\.k8s\.io {_NAME} not found")
"""The words of the admission plugin (kubernetes plugin/pkg/admission/runtimeclass/admission.go), and of a look-up."""

_EVENTS: Final = (
    ("no handler", "FailedCreatePodSandBox", _NO_HANDLER),
    ("no class", "FailedCreate", _NO_CLASS),
    ("no mount", "FailedCreate", re.compile(r"violates PodSecurity(?s:.{0,512}?)gpushare-mps-()()")),
)
"""What events say, their reasons, and their words with the name that is missing."""


async def _events(objects: Objects, namespace: str | None) -> list[SeenEvent]:
    """What events say, so much of each namespace: others keep theirs, whatever one writes."""
    found: dict[SeenEvent, None] = {}
    kept: Counter[str] = Counter()
    for reason in dict.fromkeys(reason for _, reason, _ in _EVENTS):
        async for one in all_of(objects, EVENT, namespace, fieldSelector=f"reason={reason}"):
            space = word(one, "metadata", "namespace")  # that of the object may be another's
            about = Owner(word(one, "involvedObject", "kind"), word(one, "involvedObject", "name"))
            for said, of, words in _EVENTS:
                match = words.search(word(one, "message")[:_LONGEST]) if of == reason == word(one, "reason") else None
                event = match and SeenEvent(said, space, about, match[1] or match[2])
                if event and event not in found and kept[space] < _MOST_EVENTS:
                    kept[space] += 1
                    found[event] = None
    return list(found)


async def _limits(
    objects: Objects, gpus: GpuResources, offered: Set[str], namespace: str | None
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


_LISTS: Final[Mapping[Kind, Part]] = {
    NODE: "nodes",
    DAEMON_SET: "daemonsets",
    POD: "pods",
    EVENT: "events",
    QUOTA: "quotas",
    LIMIT_RANGE: "quotas",
}
"""What is listed. DaemonSets are those of all namespaces, whatever the namespace of the question."""


def _lacking(
    objects: Objects, seen: Seen, namespace: str | None, installed_as: str | None
) -> Iterator[tuple[Part, str]]:
    """Why parts of the cluster are not known."""
    installations = seen.installations
    has_deployment = any(one.deployment for one in installations)
    is_hidden = objects.lacks(DEPLOYMENT) and not has_deployment
    is_hidden |= objects.hides(DEPLOYMENT, *(installed_as or "/").split("/", 1))
    known = Counter(each.partition(" ")[0] for one in installations for each in one.exists)
    guarded = [one for one in installations if one.settings is None or one.settings.guard.enabled]
    exist: tuple[tuple[Kind, Part, Sequence[Installation]], ...] = (
        (SERVICE_ACCOUNT, "accounts", installations),
        (POLICY, "policies", guarded),
        (POLICY_BINDING, "policies", guarded),
    )
    unread: tuple[tuple[Part, str, bool], ...] = (
        *(
            (own, kind.plural, objects.lacks(kind, None if kind is DAEMON_SET else namespace))
            for kind, own in _LISTS.items()
        ),
        *((own, kind.plural, known[kind.kind] < len(wanting)) for kind, own, wanting in exist),
        ("namespaces", "namespaces", seen.facts.namespaces is None),
        ("runtime classes", "runtimeclasses", seen.facts.runtime_classes is None),
        (
            "configurations",
            "the ConfigMap of the device plugin",
            any(one.config_map and one.maps not in seen.configurations for one in seen.of(Role.PLUGIN)),
        ),
        (
            "webhook configurations",
            "webhook configurations",
            not seen.hooks and any(map(objects.lacks, HOOKS.values())),
        ),
        ("installation", "deployments", is_hidden),
        ("endpoints", "endpointslices", any(one.endpoints is None for one in installations)),
    )
    yield from ((own, f"{what} cannot be read") for own, what, is_unread in unread if is_unread)
    if has_deployment and not any(each.ends for one in installations for each in one.replicas):
        yield (
            "certificates",
            "no replica says when its certificate ends: allow get of pods/proxy, and name the installation with "
            "--installed-as if no webhook configuration calls it",
        )
    for one in reversed(installations):  # the first one counts
        if one.renders.unknown and not one.renders.former:
            yield "former renders", one.renders.unknown
        if one.settings is None:
            yield "settings", _why_unknown(one)
        elif not one.settings.guard.enabled:
            reason = why_absent(write(one.settings), asked=False)
            yield "guard", f"there is none, because {reason or 'its settings have no guard.enabled'}"
