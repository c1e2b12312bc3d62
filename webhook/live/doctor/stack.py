"""The GPU stack of a cluster, known by its containers: the device plugin, the MPS control daemon, feature discovery.

The names are those of the charts of NVIDIA/k8s-device-plugin (deployments/helm/nvidia-device-plugin/templates) and of
the GPU operator (NVIDIA/gpu-operator assets/state-device-plugin, state-mps-control-daemon, gpu-feature-discovery). GKE
has a plugin of its own (GoogleCloudPlatform/container-engine-accelerators cmd/nvidia_gpu).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from webhook.cluster.device_plugin import version_of
from webhook.cluster.objects import Object
from webhook.live.doctor.seen import MOST_DETAIL, Program, ProgramPod, Role
from webhook.live.pods import controller
from webhook.policy.messages import cut
from webhook.policy.placement.selector import requirement
from webhook.policy.placement.taints import Tolerations
from webhook.policy.pods.pod import Pod
from webhook.policy.pods.reading import MalformedError
from webhook.policy.sharing.defaults import DefaultRule

_CONTAINERS: Final[Mapping[str, Role]] = {
    "nvidia-device-plugin-ctr": Role.PLUGIN,
    "nvidia-device-plugin": Role.PLUGIN,
    "nvidia-gpu-device-plugin": Role.PLUGIN,
    "mps-control-daemon-ctr": Role.DAEMON,
    "mps-control-daemon": Role.DAEMON,
    "gpu-feature-discovery-ctr": Role.DISCOVERY,
    "gpu-feature-discovery": Role.DISCOVERY,
}
_COMMANDS: Final[Mapping[str, Role]] = {
    "nvidia-device-plugin": Role.PLUGIN,
    "mps-control-daemon": Role.DAEMON,
    "gpu-feature-discovery": Role.DISCOVERY,
}
"""Since v0.15 the three programs share an image, and the command tells them apart."""

_IMAGE: Final = "k8s-device-plugin"
_CONFIGS: Final = "/available-configs"
"""Where the charts mount the ConfigMap for the config-manager."""


class _AllKeys:
    """Stands for the keys of all taints, so that every toleration counts."""

    def __contains__(self, _key: object) -> bool:
        return True


def role_of(spec: Mapping[str, Any]) -> Role | None:
    """The program that a pod runs, by its containers; None for a pod of another kind."""
    containers = spec.get("containers") or ()
    for one in containers:
        if (role := _CONTAINERS.get(one.get("name", ""))) is not None:
            return role
    for one in containers:
        command = (one.get("command") or [""])[0].rpartition("/")[2]
        if re.split("[:@]", one.get("image", "").rpartition("/")[2])[0] == _IMAGE:
            return _COMMANDS.get(command, Role.PLUGIN)
    return None


def program(found: Object) -> Program | None:
    """Read a DaemonSet of the stack; None for another one."""
    metadata, spec, status = found["metadata"], found.get("spec") or {}, found.get("status") or {}
    pod = (spec.get("template") or {}).get("spec") or {}
    role = role_of(pod)
    if role is None:
        return None
    containers = list(pod.get("containers") or ())
    main = next((one for one in containers if role_of({"containers": [one]}) is role), containers[0])
    every = [*(pod.get("initContainers") or ()), *containers]
    manager = next((one for one in every if _is_manager(one)), None)
    environment = _environment(main)
    try:
        needs, tolerations = requirement(Pod.of_template({"spec": pod})), Tolerations(_AllKeys())
        tolerations.add(pod.get("tolerations") or (), ())
    except MalformedError:  # the API server checks both
        return None
    return Program(
        role,
        metadata.get("namespace", ""),
        metadata["name"],
        int(status.get("desiredNumberScheduled") or 0),
        int(status.get("numberReady") or 0),
        needs,
        tolerations,
        version_of(main.get("image", "")),
        pod.get("runtimeClassName") or "",
        "" if manager is None else _config_map(manager, pod.get("volumes") or ()),
        None if manager is None else _default(manager),
        environment.get("MIG_STRATEGY") or None,
        manager is None and not _names_config(main, environment),
    )


def program_pod(found: Object, role: Role) -> ProgramPod:
    """Read a pod of the stack."""
    metadata, status = found["metadata"], found.get("status") or {}
    owner = controller(metadata)
    conditions = status.get("conditions") or ()
    is_ready = any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)
    return ProgramPod(
        role,
        metadata.get("namespace", ""),
        metadata["name"],
        "" if owner is None else owner.name,
        (found.get("spec") or {}).get("nodeName", ""),
        is_ready,
        "" if is_ready else cut(detail_of(status), MOST_DETAIL),
    )


def detail_of(status: Mapping[str, Any]) -> str:
    """Why a pod is not ready, in the words of the kubelet; empty where its status does not say."""
    for each in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        state, last = each.get("state") or {}, (each.get("lastState") or {}).get("terminated") or {}
        stopped = state.get("waiting") or state.get("terminated") or {}
        if stopped.get("reason") in (None, "Completed", "PodInitializing", "ContainerCreating"):
            continue
        said = " ".join(filter(None, (stopped.get("reason"), stopped.get("message"), last.get("message"))))
        return f"container {each.get('name', '')}: {said}"
    for one in status.get("conditions") or ():
        if one.get("status") == "False" and one.get("message"):
            return f"{one.get('reason') or one.get('type')}: {one['message']}"
    return str(status.get("message") or status.get("reason") or status.get("phase") or "")


def _is_manager(container: Mapping[str, Any]) -> bool:
    """Whether it is the config-manager, which chooses the configuration of the node by its label."""
    environment = _environment(container)
    return (container.get("command") or [""])[0] == "config-manager" or "DEFAULT_CONFIG" in environment


def _names_config(plugin: Mapping[str, Any], environment: Mapping[str, str | None]) -> bool:
    """Whether an option or a variable may name a configuration file (cmd/nvidia-device-plugin/main.go)."""
    words = [*(plugin.get("command") or ()), *(plugin.get("args") or ())]
    return bool(plugin.get("envFrom")) or "CONFIG_FILE" in environment or any("config-file" in one for one in words)


def _default(manager: Mapping[str, Any]) -> DefaultRule | None:
    variables = _environment(manager)
    name, fallbacks = variables.get("DEFAULT_CONFIG", ""), variables.get("FALLBACK_STRATEGIES", "")
    if name is None or fallbacks is None:
        return None
    return DefaultRule(name, tuple(one.strip() for one in fallbacks.split(",")) if fallbacks else ())


def _config_map(manager: Mapping[str, Any], volumes: Iterable[Mapping[str, Any]]) -> str:
    """The name of the ConfigMap that the config-manager reads."""
    folder = _environment(manager).get("CONFIG_FILE_SRCDIR") or _CONFIGS
    mounted = {one.get("name") for one in manager.get("volumeMounts") or () if one.get("mountPath") == folder}
    return next(_names_of_maps(one for one in volumes if one.get("name") in mounted), "")


def _names_of_maps(volumes: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for one in volumes:
        if name := (one.get("configMap") or {}).get("name"):
            yield name


def _environment(container: Mapping[str, Any]) -> dict[str, str | None]:
    """The environment; None for a value that comes from elsewhere."""
    listed = container.get("env") or ()
    return {one["name"]: None if one.get("valueFrom") else one.get("value") or "" for one in listed}
