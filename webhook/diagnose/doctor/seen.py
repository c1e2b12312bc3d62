"""A cluster as `doctor` sees it: the GPU stack, our installations, and what matters of pods, as far as rights allow."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from typing import Final, NamedTuple

import msgspec

from webhook.cluster.followed import KEY
from webhook.cluster.installations import HOOKS, Hook, Installation, Installed, read_installations
from webhook.cluster.nodes import whole
from webhook.cluster.objects import (
    CONFIG_MAP,
    DAEMON_SET,
    DEPLOYMENT,
    EVENT,
    LIMIT_RANGE,
    NODE,
    POD,
    QUOTA,
    SECRET,
    Kind,
    LeftOut,
    Object,
    ObjectsWithMetrics,
    all_of,
    is_absent,
)
from webhook.cluster.reading import FINISHED, Owner, entries, part, word
from webhook.cluster.stack import MOST_DETAIL, Program, ProgramPod, Role, SeenNode, program_pod, role_of, seen_node
from webhook.cluster.trusted import Part, Stack, configurations_of, named, programs_of, trust
from webhook.diagnose.owners import Owners
from webhook.diagnose.pods import LivePod, live_pod
from webhook.diagnose.sharing import CLOSED
from webhook.diagnostics import Diagnostic, InputError
from webhook.dryrun.files import parse
from webhook.guard.objects import why_absent
from webhook.policy.checks import gps032_quota
from webhook.policy.messages import cut
from webhook.policy.placement.facts import Facts
from webhook.policy.pods.gpu_resources import GpuResources
from webhook.policy.pods.pod import clean_path
from webhook.policy.pods.reading import MalformedError
from webhook.policy.settings.settings import Settings
from webhook.policy.verdict import Violation
from webhook.settings.load import load
from webhook.settings.members import write

DEFAULT_PIPE: Final = "/tmp/nvidia-mps"  # noqa: S108 - the pipe directory of CUDA without the variable

CERTIFICATE: Final = Kind("certificate", "certificates", "cert-manager.io")
_ADMISSION: Final = "admissionregistration.k8s.io"
_CLUSTER_POLICY: Final = Kind("clusterpolicy", "clusterpolicies", "nvidia.com", is_namespaced=False)
_MACHINES: Final = tuple(
    tuple(Kind(name, f"{name}s", group, version) for version in versions)
    for group, names, versions in (
        ("cluster.x-k8s.io", ("machinedeployment", "machineset", "machinepool"), ("v1beta2", "v1beta1")),
        ("machine.openshift.io", ("machineset",), ("v1beta1",)),
    )
    for name in names
)
"""Groups of machines that the cluster autoscaler may grow, each in its versions."""

_POLICIES: Final = (
    tuple(
        Kind("mutatingadmissionpolicy", "mutatingadmissionpolicies", _ADMISSION, version, is_namespaced=False)
        for version in ("v1", "v1beta1", "v1alpha1")
    ),
    (Kind("Kyverno clusterpolicy", "clusterpolicies", "kyverno.io", is_namespaced=False),),
    (Kind("Gatekeeper assign", "assign", "mutations.gatekeeper.sh", is_namespaced=False),),
)
"""Policies that may add a mount to pods, each in its versions."""

OPTIONAL: Final = (
    _CLUSTER_POLICY,
    CERTIFICATE,
    *(kind for versions in (*_MACHINES, *_POLICIES) for kind in versions),
)
"""Kinds that are read where the cluster has them."""


class Expiry(NamedTuple):
    """A certificate: where it is, when it ends, and how long before that something is wrong if it was not renewed.

    `is_served`: a replica serves it; otherwise it is that of an authority.
    """

    where: str
    ends: datetime
    notice: timedelta
    is_served: bool = False


class SeenPod(NamedTuple):
    """A pod that asks for GPUs, was rejected, waits with a RuntimeClass, or `joins` the MPS daemon of the host.

    `message` is that of its status, where it was rejected.
    """

    pod: LivePod
    runtime_class: str
    joins: bool
    message: str

    @property
    def asks(self) -> bool:
        """Whether it asks for GPUs, and has not ended."""
        return bool(self.pod.requests) and self.pod.phase not in FINISHED

    @property
    def owner(self) -> tuple[str, Owner]:
        """The owner with its namespace: the topmost one of a pod that was rejected or joins."""
        return self.pod.namespace, self.pod.owner


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


class Template(NamedTuple):
    """A group of nodes that an autoscaler may add: what it says that each node offers, and its labels."""

    namespace: str
    where: str
    resources: Mapping[str, int]
    labels: Mapping[str, str]
    edit: str


@dataclass(frozen=True)
class Seen(Stack):
    """Everything that was read of a cluster.

    `others` are programs of the GPU stack that do not count, and `other_pods` their pods. `policies` are those of the
    GPU operator, and `mounting` names policies that mount the default pipe directory. `unlinked` names Deployments that
    have the label of this webhook and that nothing calls. `absent` names objects of the settings that do not exist.
    `closed` says of all nodes that take no new pods why.
    """

    settings: Settings
    now: datetime
    others: Sequence[Program]
    other_pods: Sequence[ProgramPod]
    pods: Sequence[SeenPod]
    events: Iterable[SeenEvent]
    limits: Sequence[Limits]
    templates: Sequence[Template]
    policies: Sequence[Object]
    mounting: Sequence[str]
    installations: Sequence[Installation]
    hooks: Sequence[Hook]
    unlinked: Sequence[str]
    expiries: Sequence[Expiry]
    absent: Set[str]
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
        [one async for one in _templates(objects)],
        [one async for one in _optional(objects, (_CLUSTER_POLICY,))],
        [one async for one in _mounting(objects)],
        *installed,
        [one async for one in _expiries(objects, installed)],
        {one async for one in _absent(objects, settings)},
        closed,
    )
    lacking |= dict(_lacking(objects, seen, namespace))
    lacking |= dict(_lacking_of_installations(objects, seen, installed_as))
    return seen


async def _optional(objects: ObjectsWithMetrics, kinds: Iterable[Kind]) -> AsyncIterator[Object]:
    """The objects of a kind that a cluster may lack, in the first version that it has."""
    kind = await objects.served(kinds)
    if kind is not None:
        async for one in all_of(objects, kind):
            yield one


async def _pods(
    objects: ObjectsWithMetrics, gpus: GpuResources, namespace: str | None, of_stack: Set[str]
) -> tuple[list[ProgramPod], list[SeenPod]]:
    """Read the pods of the GPU stack, also those in other namespaces `of_stack`, and the others that matter."""
    programs: list[ProgramPod] = []
    found: list[SeenPod] = []
    messages: dict[str, str] = {}
    for place in [namespace, *(() if namespace is None else sorted(of_stack - {namespace}))]:
        async for one in all_of(objects, POD, place):
            role = role_of(part(one, "spec"))
            if role is None and place == namespace:
                found += _seen_pod(one, gpus, messages)
            elif role is not None and word(one, "status", "phase") not in FINISHED:  # or else it runs nowhere
                programs.append(program_pod(one, role))
    owned = [at for at, one in enumerate(found) if one.pod.was_rejected or one.joins]
    owners = await Owners.read(objects, namespace) if owned else Owners({})
    for at in owned:
        pod = found[at].pod
        found[at] = found[at]._replace(pod=replace(pod, owner=owners.top(pod)))
    return programs, found


def _seen_pod(found: Object, gpus: GpuResources, messages: dict[str, str]) -> Iterator[SeenPod]:
    """Read a pod, if it matters. Thousands of rejected pods share a message."""
    pod, runtime_class = live_pod(found, gpus.find), word(found, "spec", "runtimeClassName")
    joins = pod.phase not in FINISHED and _mounts(part(found, "spec"), DEFAULT_PIPE)
    is_waiting = pod.phase == "Pending" and runtime_class
    if pod.was_rejected or joins or is_waiting or (pod.requests and pod.phase not in FINISHED):
        message = cut(word(found, "status", "message"), MOST_DETAIL) if pod.was_rejected else ""
        yield SeenPod(pod, runtime_class, joins, messages.setdefault(message, message))


def _mounts(spec: Object, folder: str) -> bool:
    """Whether a pod mounts the folder of the host, or mounts a folder of the host there."""
    paths = {one.get("name"): path for one in entries(spec, "volumes") if (path := word(one, "hostPath", "path"))}
    if any(clean_path(path) == folder for path in paths.values()):
        return True
    containers = (*entries(spec, "initContainers"), *entries(spec, "containers")) if paths else ()
    mounts = (mount for one in containers for mount in entries(one, "volumeMounts"))
    return any(clean_path(word(one, "mountPath")) == folder and one.get("name") in paths for one in mounts)


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
            is_about = event.reason == reason and "runtime" in event.message.lower()
            if is_about and event not in found and kept[event.namespace] < _MOST_EVENTS:
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


_CAPACITY: Final = "capacity.cluster-autoscaler.kubernetes.io/"
"""The annotations by which a group without nodes tells the autoscaler of them (kubernetes/autoscaler
cluster-autoscaler/cloudprovider/clusterapi/README.md)."""

_OPENSHIFT: Final = "machine.openshift.io/GPU"


async def _templates(objects: ObjectsWithMetrics) -> AsyncIterator[Template]:
    """The nodes that groups of machines say that they add, by their annotations."""
    for kinds in _MACHINES:
        async for one in _optional(objects, kinds):
            annotations, namespace = part(one, "metadata", "annotations"), word(one, "metadata", "namespace")
            field = next((key for key in (f"{_CAPACITY}gpu-count", _OPENSHIFT) if key in annotations), None)
            if field is not None:
                kind = None if field == _OPENSHIFT else annotations.get(f"{_CAPACITY}gpu-type")
                written = annotations.get(f"{_CAPACITY}labels", "").split(",")
                yield Template(
                    namespace,
                    f"{kinds[0].name} {namespace}/{word(one, 'metadata', 'name')}",
                    {kind or "nvidia.com/gpu": whole(annotations[field])},
                    dict(pair.split("=", 1) for pair in written if "=" in pair),
                    field,
                )


async def _mounting(objects: ObjectsWithMetrics) -> AsyncIterator[str]:
    """The policies that name the default pipe directory."""
    for kinds in _POLICIES:
        async for one in _optional(objects, kinds):
            if DEFAULT_PIPE.encode() in msgspec.json.encode(one.get("spec")):
                yield f"{kinds[0].name} {one['metadata']['name']}"


async def _absent(objects: ObjectsWithMetrics, settings: Settings) -> AsyncIterator[str]:
    """The objects that the settings name and that do not exist, as far as that is known."""
    source = settings.facts.device_plugin
    maps = () if source is None else source.config_maps
    daemon_sets = () if source is None or source.daemon_set is None else (source.daemon_set,)
    for kind, noun, places in ((CONFIG_MAP, "ConfigMap", maps), (DAEMON_SET, "DaemonSet", daemon_sets)):
        for where in places:
            namespace, _, name = where.partition("/")
            if await is_absent(objects, kind, namespace, name):
                yield f"{noun} {where}"


async def _expiries(objects: ObjectsWithMetrics, installed: Installed) -> AsyncIterator[Expiry]:
    """The authorities by which the API server verifies the webhook, and what the installations serve."""
    bundles: dict[bytes, Hook] = {}
    for hook in installed.hooks:
        for entry in hook.entries:
            bundles.setdefault(_decoded(part(entry, "clientConfig").get("caBundle")), hook)
    for pem, hook in bundles.items():
        for one in _newest(f"caBundle of {hook}", pem):
            yield one
    for installation in installed.installations:
        async for one in _served(objects, installation):
            yield one


def _decoded(text: object) -> bytes:
    try:
        return b64decode(text) if isinstance(text, str) else b""
    except (Base64Error, ValueError):
        return b""


async def _served(objects: ObjectsWithMetrics, one: Installation) -> AsyncIterator[Expiry]:
    """The certificate that an installation serves.

    A replica reports the end of its own. Otherwise the Certificate of cert-manager or the Secret shows it.
    """
    found = None
    if one.deployment is None:
        return
    if await objects.served((CERTIFICATE,)) is not None:
        found = await objects.one(CERTIFICATE, one.namespace, one.name)
    ends = [each.ends for each in one.replicas if each.ends is not None]
    of_pod = part(one.deployment, "spec", "template", "spec")
    volume = next((each for each in entries(of_pod, "volumes") if each.get("name") == "tls"), {})
    if found is not None:
        try:
            begin, end = (datetime.fromisoformat(found["status"][key]) for key in ("notBefore", "notAfter"))
        except (KeyError, TypeError, ValueError):
            return
        yield Expiry(f"Certificate {one}", end, _notice(begin, end), is_served=True)
    elif ends:
        yield Expiry(f"certificate that {one} serves", min(ends), _LEAST, is_served=True)
    elif secret := word(volume, "secret", "secretName"):
        args = [arg for each in entries(of_pod, "containers") for arg in each.get("args") or ()]
        key = next((arg for arg in args if arg.startswith("--tls-cert=")), "tls.crt").rpartition("/")[2]
        held = await objects.one(SECRET, one.namespace, secret)
        for newest in _newest(f"Secret {one.namespace}/{secret}", _decoded(part(held, "data").get(key))):
            yield newest._replace(is_served=True)


def _newest(where: str, pem: bytes) -> Iterator[Expiry]:
    """The certificate of a text that ends last; none without the library that reads certificates."""
    if find_spec("cryptography") is None:
        return
    from webhook.pki import bundle

    found = max(bundle.read(pem), key=lambda one: one.not_valid_after_utc, default=None)
    if found is not None:
        notice = _notice(found.not_valid_before_utc, found.not_valid_after_utc)
        yield Expiry(where, found.not_valid_after_utc, max(notice, _LEAST))


_LEAST: Final = timedelta(days=1)
"""The least notice for a certificate that a user may have to renew. One that the webhook signs lives for a week."""


def _notice(begins: datetime, ends: datetime) -> timedelta:
    """A sixth of the lifetime, since certificates are renewed when a third is left; a month at most."""
    return min((ends - begins) / 6, timedelta(days=30))


def _why_unknown(one: Installation) -> str:
    """Why the settings of an installation are unknown."""
    return one.problem or f"ConfigMap {one} cannot be read or has no key {KEY}"


def _lacking(objects: ObjectsWithMetrics, seen: Seen, namespace: str | None) -> Iterator[tuple[Part, str]]:
    """Why parts of the cluster are not known."""
    lists: tuple[tuple[Part, Kind, str | None], ...] = (
        ("nodes", NODE, None),
        ("daemonsets", DAEMON_SET, None),
        ("pods", POD, namespace),
        ("events", EVENT, namespace),
        ("quotas", QUOTA, namespace),
        ("quotas", LIMIT_RANGE, namespace),
    )
    for own, kind, place in lists:
        if objects.lacks(kind, place):
            yield own, f"{kind.plural} cannot be read"
    if seen.facts.namespaces is None:
        yield "namespaces", "namespaces cannot be read"
    if seen.facts.runtime_classes is None:
        yield "runtime classes", "runtimeclasses cannot be read"
    if any(one.config_map and one.maps not in seen.configurations for one in seen.of(Role.PLUGIN)):
        yield "configurations", "the ConfigMap of the device plugin cannot be read"
    if any(objects.lacks(kind) for kinds in _MACHINES for kind in kinds):
        yield "templates", "groups of machines cannot be read"


def _lacking_of_installations(
    objects: ObjectsWithMetrics, seen: Seen, installed_as: str | None
) -> Iterator[tuple[Part, str]]:
    """Why parts of the installations are not known."""
    installations, hooks = seen.installations, seen.hooks
    deployments = [one for one in installations if one.deployment]
    if not hooks and any(map(objects.lacks, HOOKS.values())):
        yield "webhook configurations", "webhook configurations cannot be read"
    if installed_as is None and objects.lacks(DEPLOYMENT) and not deployments:
        yield "installation", "deployments cannot be read"
    if installed_as is not None and objects.hides(DEPLOYMENT, *installed_as.split("/", 1)):
        yield "installation", f"deployment {installed_as} cannot be read"
    if any(one.endpoints is None for one in installations):
        yield "endpoints", "endpointslices cannot be read"
    for one in reversed(installations):  # the first one counts
        if one.settings is None:
            yield "settings", _why_unknown(one)
        elif not one.settings.guard.enabled:
            reason = why_absent(write(one.settings), asked=False)
            yield "guard", f"there is none, because {reason or 'its settings have no guard.enabled'}"
    if find_spec("cryptography") is None and not seen.expiries:
        yield "certificates", "the library cryptography is not installed: install gpushare-webhook[server]"
    elif deployments and not any(one.is_served for one in seen.expiries):
        is_called = installed_as or any(hook.calls(one) for hook in hooks for one in installations)
        unread = "neither the metrics of a replica (get pods/proxy) nor the Secret (get secrets) can be read"
        unknown = "no webhook configuration calls the installation, which only its label shows; name it: --installed-as"
        yield "served certificates", unread if is_called else unknown
