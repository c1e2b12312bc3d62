"""The GPU stack of a cluster: nodes with GPUs, and the device plugin, the MPS control daemon and feature discovery.

Programs are known by their containers. The names are those of the charts of NVIDIA/k8s-device-plugin
(deployments/helm/nvidia-device-plugin/templates) and of the GPU operator (NVIDIA/gpu-operator
assets/state-device-plugin, state-mps-control-daemon, gpu-feature-discovery). GKE has a plugin of its own
(GoogleCloudPlatform/container-engine-accelerators cmd/nvidia_gpu).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

import msgspec
from msgspec import Raw

from webhook.cluster.api_server import IDENTIFIED
from webhook.cluster.device_plugin import PluginDaemonSet
from webhook.cluster.nodes import NodeObject, whole
from webhook.cluster.reading import Object, controller, entries, is_true, number, part, word
from webhook.policy.messages import cut
from webhook.policy.placement.cluster_objects import Taint
from webhook.policy.placement.node_classes import CAPABLE, DISCOVERED
from webhook.policy.placement.platforms import shows_gpus
from webhook.policy.placement.selector import (
    NAME_FIELD,
    Requirement,
    Tolerations,
    is_lifecycle,
    requirement,
    tolerations_of,
)
from webhook.policy.pods.gpu_resources import GpuResources, names_gpu
from webhook.policy.pods.pod import Pod, clean_path
from webhook.policy.pods.reading import MalformedError
from webhook.policy.sharing.objects import DefaultRule

MOST_DETAIL: Final = 300
"""Characters that are kept of a message."""


class Role(Enum):
    """A program of the GPU stack. The value names it in messages."""

    PLUGIN = "device plugin"
    DAEMON = "MPS control daemon"
    DISCOVERY = "GPU feature discovery"
    FEATURES = "node feature discovery"


class SeenNode(NamedTuple):
    """A node with GPUs, or with labels that say so. `offered` and `capacity` hold GPU resources in whole units."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    offered: Mapping[str, int]
    capacity: Mapping[str, int]
    image: str = ""

    @property
    def runs_stack_itself(self) -> bool:
        """Whether the plugin and the daemon are programs of the host (bottlerocket-os/bottlerocket#4673)."""
        return self.image.startswith("Bottlerocket")


@dataclass(frozen=True, slots=True, eq=False)  # each is one object, which a finding may be about
class Program:
    """A DaemonSet of the GPU stack.

    `requirement` and `tolerations` are those of its pods. `config_map` is the name of the ConfigMap with the plugin's
    configurations, empty where it is not one, or not known. `default` says how a node without the label gets its own;
    None if no config-manager chooses. `key`: the configuration of all its nodes, which the path of a file names.
    `is_unconfigured`: nothing gives the plugin a configuration. `unread` are the ConfigMaps that the plugin gets and
    does not read as configurations, and `deciding` those whose variables decide what it reads. `created` is in RFC
    3339.
    """

    role: Role
    namespace: str
    name: str
    desired: int
    ready: int
    requirement: Requirement | None
    tolerations: Tolerations
    version: str | None = None
    runtime_class: str = ""
    config_map: str = ""
    default: DefaultRule | None = None
    mig_strategy: str | None = None
    is_unconfigured: bool = False
    created: str = ""
    key: str | None = None
    unread: tuple[str, ...] = ()
    deciding: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def maps(self) -> str:
        """The ConfigMap with its namespace."""
        return f"{self.namespace}/{self.config_map}"

    def selects(self, node: SeenNode) -> bool:
        """Whether the selector and the required affinity of its pods admit the node."""
        if (needs := self.requirement) is None:
            return True
        labels = {**node.labels, NAME_FIELD: node.name}
        return all(labels.get(key) == value for key, value in needs.selector.items()) and (
            needs.terms is None
            or any(all(constraint.holds(labels.get(key)) for key, constraint in term.items()) for term in needs.terms)
        )

    def repelled(self, node: SeenNode) -> Taint | None:
        """The first lasting taint of the node that its pods do not tolerate."""
        lasting = (one for one in node.taints if one.effect != "PreferNoSchedule" and not is_lifecycle(one.key))
        return next((one for one in lasting if not self.tolerations.tolerate(one)), None)

    def covers(self, node: SeenNode) -> bool:
        """Whether it wants a pod on the node."""
        return self.selects(node) and self.repelled(node) is None


class ProgramPod(NamedTuple):
    """A pod of the GPU stack. `owner` is the name of what made it; `detail` says why the pod is not ready.

    `mounts_kubelet`: it mounts the folder of the node in which device plugins register with the kubelet.
    """

    role: Role
    namespace: str
    name: str
    owner: str
    node: str
    is_ready: bool
    detail: str = ""
    mounts_kubelet: bool = False
    is_of_daemon_set: bool = False


# Nodes.


def seen_node(found: Object, gpus: GpuResources) -> SeenNode | None:
    """Read a node; None for one without GPUs and without labels that say that it has some."""
    try:
        one = msgspec.convert(found, NodeObject)
    except msgspec.ValidationError:  # of a file
        return None
    labels, status = one.metadata.labels or {}, one.status
    offered, capacity = (
        {name: whole(amount) for name, amount in (listed or {}).items() if names_gpu(name, gpus)}
        for listed in (status.allocatable, status.capacity)
    )
    image = word(found, "status", "nodeInfo", "osImage")
    node = SeenNode(one.metadata.name, labels, one.taints, offered, capacity, image)
    is_variant = node.runs_stack_itself and "-nvidia" in image
    return node if offered or capacity or is_variant or shows_gpus(labels, one.taints) else None


def is_discovered(node: SeenNode) -> bool:
    """Whether GPU feature discovery has labelled the node, as one of its other labels shows."""
    others = DISCOVERED - {CAPABLE}
    return "nvidia.com/gfd.timestamp" in node.labels or not others.isdisjoint(node.labels)


# Programs.

_PROGRAMS: Final[Mapping[str, Role]] = {
    "nvidia-device-plugin-ctr": Role.PLUGIN,
    "nvidia-device-plugin": Role.PLUGIN,
    "nvidia-gpu-device-plugin": Role.PLUGIN,
    "mps-control-daemon-ctr": Role.DAEMON,
    "mps-control-daemon": Role.DAEMON,
    "gpu-feature-discovery-ctr": Role.DISCOVERY,
    "gpu-feature-discovery": Role.DISCOVERY,
}
"""Programs by the name of their container or of their command: since v0.15 the three share an image."""

_TAG: Final = re.compile(r"v?0\.[0-9]{1,9}\.[0-9]{1,9}(?:[-+.][-0-9A-Za-z.+]{1,40})?")
"""A version of the plugin, such as v0.17.4-ubi9. Tags such as v25.3.0 are those of other components, and 1.0.0-beta6
is older than 0.5, so that only versions before 1 are understood."""

_POD: Final = ("spec", "template", "spec")
_IMAGE: Final = "k8s-device-plugin"
_CONFIGS: Final = "/available-configs"
"""Where the charts mount the ConfigMap for the config-manager."""

_KUBELET: Final = "/kubelet/device-plugins"
"""The end of the folder in which plugins register: k0s and MicroK8s keep the kubelet's folders below their own."""


def role_of(spec: Object) -> Role | None:
    """The program that a pod runs, by its containers; None for a pod of another kind."""
    containers = entries(spec, "containers")
    for one in containers:
        if (role := _PROGRAMS.get(word(one, "name"))) is not None:
            return role
    for one in containers:
        if _image(one)[0] == _IMAGE:
            return _PROGRAMS.get(_command(one).rpartition("/")[2], Role.PLUGIN)
    return None


def _image(container: Object) -> tuple[str, str | None]:
    """The name of an image, and the version of the plugin that its tag shows; None if it shows none."""
    name, _, tag = word(container, "image").partition("@")[0].rpartition("/")[2].partition(":")
    return name, tag if _TAG.fullmatch(tag) else None


def program(
    found: Object, variables: Mapping[str, Mapping[str, str]] | None = None, role: Role | None = None
) -> Program | None:
    """Read a DaemonSet of the stack; None for another one, unless `role` is that of its pods.

    `variables` has the data of the ConfigMaps that the DaemonSet is `deciding` by, once they are read.
    """
    pod = part(found, *_POD)
    role = role or role_of(pod)
    if role is None:
        return None
    containers, volumes = entries(pod, "containers"), entries(pod, "volumes")
    main = next((one for one in containers if role_of({"containers": [one]}) is role), containers[0])
    # The config-manager chooses the configuration of the node by its label.
    every = (*entries(pod, "initContainers"), *containers)
    chooses = (one for one in every if _command(one) == "config-manager" or "DEFAULT_CONFIG" in _variables(one))
    manager = next(chooses, None)
    environment = _variables(main, variables)
    try:
        view = Pod.of_template({"spec": pod})
        tolerations = tolerations_of(view, {word(one, "key") for one in entries(pod, "tolerations")})
        placed = requirement(view), tolerations
    except MalformedError:  # of a file
        return None
    option, named = _option(main), _maps_of_environment(main)
    file = option or environment.get("CONFIG_FILE", "")
    deciding = () if manager or option or variables is not None else named
    if manager is not None:
        file = f"{_variables(manager).get('CONFIG_FILE_SRCDIR') or _CONFIGS}/"
    config_map, key = _mounted(manager or main, volumes, file) if file else ("", None)
    given = dict.fromkeys((*named, *_maps_of_volumes(main, volumes)))
    return Program(
        role,
        word(found, "metadata", "namespace"),
        word(found, "metadata", "name"),
        number(found, "status", "desiredNumberScheduled"),
        number(found, "status", "numberReady"),
        *placed,
        _image(main)[1],
        word(pod, "runtimeClassName"),
        config_map,
        None if manager is None else _default(manager),
        environment.get("MIG_STRATEGY") or None,
        file == "" and not deciding,
        word(found, "metadata", "creationTimestamp"),
        key if manager is None else None,
        tuple(name for name in given if name != config_map) if role is Role.PLUGIN and manager is None else (),
        deciding,
    )


def program_of_pod(found: Object) -> Program | None:
    """Read the DaemonSet of a pod, as far as the pod shows it; None for a pod that none made."""
    metadata, owner = part(found, "metadata"), controller(found.get("metadata"))
    if owner is None or owner.kind != "DaemonSet":
        return None
    return program({"metadata": {**metadata, "name": owner.name}, "spec": {"template": {"spec": part(found, "spec")}}})


def feature_worker(found: Object) -> Program | None:
    """Read a DaemonSet of node feature discovery that labels nodes; None for another one.

    kubernetes-sigs/node-feature-discovery deployment/helm/node-feature-discovery/templates/worker.yaml.
    """
    containers = entries(found, *_POD, "containers")
    is_worker = any("nfd-worker" in (word(one, "name"), *_words(one, "command", "args")) for one in containers)
    return program(found, role=Role.FEATURES) if is_worker else None


def parse_daemon_set(found: Raw) -> tuple[str, PluginDaemonSet]:
    """Read the DaemonSet that settings name as that of the device plugin. Raises msgspec.MsgspecError."""
    name, one = IDENTIFIED.decode(found).metadata.name, msgspec.json.decode(found)
    own = program(one)
    if own is None or own.role is not Role.PLUGIN:
        return name, PluginDaemonSet(None, None, runtime_class=word(one, *_POD, "runtimeClassName"))
    return name, PluginDaemonSet(own.version, own.default, own.mig_strategy, own.is_unconfigured, own.runtime_class)


def program_pod(found: Object, role: Role) -> ProgramPod:
    """Read a pod of the stack."""
    owner = controller(part(found, "metadata"))
    folders = (word(one, "hostPath", "path") for one in entries(found, "spec", "volumes"))
    return ProgramPod(
        role,
        word(found, "metadata", "namespace"),
        word(found, "metadata", "name"),
        "" if owner is None else owner.name,
        word(found, "spec", "nodeName"),
        *readiness(found),
        any(clean_path(one).endswith(_KUBELET) for one in folders),
        owner is not None and owner.kind == "DaemonSet",
    )


def readiness(pod: Object) -> tuple[bool, str]:
    """Whether a pod is ready, and why it is not, in the words of the kubelet; empty where its status does not say."""
    is_ready = is_true(pod, "Ready")
    return is_ready, "" if is_ready else cut(_detail(part(pod, "status")), MOST_DETAIL)


def _detail(status: Object) -> str:
    for kind in ("initContainerStatuses", "containerStatuses"):
        for each in entries(status, kind):
            state, name = part(each, "state"), word(each, "name")
            stopped = part(state, "waiting") or part(state, "terminated")
            if "running" in state and kind == "initContainerStatuses":
                return f"init container {name} has not ended"
            if word(stopped, "reason") not in ("", "Completed", "PodInitializing", "ContainerCreating"):
                before = word(each, "lastState", "terminated", "message")
                said = (word(stopped, "reason"), word(stopped, "message"), before)
                return f"container {name}: {' '.join(filter(None, said))}"
    for one in entries(status, "conditions"):
        if one.get("status") == "False" and word(one, "message"):
            return f"{word(one, 'reason') or word(one, 'type')}: {word(one, 'message')}"
    return word(status, "message") or word(status, "reason") or word(status, "phase")


def _command(container: Object) -> str:
    return next(iter(_words(container, "command")), "")


def _words(container: Object, *keys: str) -> list[str]:
    lists = (container.get(key) for key in keys)
    return [one for each in lists if isinstance(each, list) for one in each if isinstance(one, str)]


_FILE: Final = re.compile(r"--?config-file[= ]([^\s'\"]+)", re.ASCII)


def _option(plugin: Object) -> str:
    """The file that an option names (cmd/nvidia-device-plugin/main.go), also in the words of a shell."""
    found = _FILE.search(" ".join(_words(plugin, "command", "args")))
    return "" if found is None else found[1]


def _default(manager: Object) -> DefaultRule | None:
    variables = _variables(manager)
    name, fallbacks = variables.get("DEFAULT_CONFIG", ""), variables.get("FALLBACK_STRATEGIES", "")
    if name is None or fallbacks is None:
        return None
    return DefaultRule(name, tuple(one.strip() for one in fallbacks.split(",")) if fallbacks else ())


def _mounted(container: Object, volumes: list[Object], path: str) -> tuple[str, str | None]:
    """The ConfigMap and the key behind a file, or behind a folder, which ends in a slash; empty for another volume."""
    wanted = clean_path(path)
    mounts = [(clean_path(word(one, "mountPath")), one) for one in entries(container, "volumeMounts")]
    above = [(root, one) for root, one in mounts if f"{wanted}/".startswith(f"{root}/")]
    if not above:
        return "", None
    root, mount = max(above, key=lambda each: len(each[0]))
    below = word(mount, "subPath") or wanted[len(root) + 1 :]
    for volume in volumes:
        for source in _config_maps(volume) if word(volume, "name") == word(mount, "name") else ():
            items = {word(one, "path"): word(one, "key") for one in entries(source, "items")}
            if not below or not items or below in items:
                return word(source, "name"), items.get(below, below) or None
    return "", None


def _config_maps(volume: Object) -> Iterator[Object]:
    """The ConfigMaps of a volume, also of a projected one."""
    listed = (part(volume, "configMap"), *(part(one, "configMap") for one in entries(volume, "projected", "sources")))
    return (one for one in listed if one)


def _maps_of_volumes(container: Object, volumes: list[Object]) -> Iterator[str]:
    mounted = {word(one, "name") for one in entries(container, "volumeMounts")}
    return (word(one, "name") for each in volumes if word(each, "name") in mounted for one in _config_maps(each))


def _maps_of_environment(container: Object) -> tuple[str, ...]:
    """The ConfigMaps that may hold the variable with the configuration file."""
    listed = [word(one, "configMapRef", "name") for one in entries(container, "envFrom")]
    listed += [
        word(one, "valueFrom", "configMapKeyRef", "name")
        for one in entries(container, "env")
        if one.get("name") in ("CONFIG_FILE", "MIG_STRATEGY")
    ]
    return tuple(dict.fromkeys(filter(None, listed)))


def _variables(container: Object, maps: Mapping[str, Mapping[str, str]] | None = None) -> dict[str, str | None]:
    """The environment, with what comes from these ConfigMaps; None for a value that comes from elsewhere."""
    found: dict[str, str | None] = {}
    maps = maps or {}
    for one in entries(container, "envFrom"):
        data = maps.get(word(one, "configMapRef", "name"), {})
        found |= {f"{word(one, 'prefix')}{key}": value for key, value in data.items()}
        if "secretRef" in one:
            found.setdefault("CONFIG_FILE", None)
    for one in entries(container, "env"):
        reference = part(one, "valueFrom", "configMapKeyRef")
        referred = maps.get(word(reference, "name"), {}).get(word(reference, "key"))
        found[word(one, "name")] = referred if one.get("valueFrom") else word(one, "value")
    return found
