"""A live object as its author created it: without what the API server, the scheduler and this webhook added to it."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Final

from webhook.cluster.objects import Object
from webhook.cluster.reading import entries
from webhook.policy.injections.pipe_mount import SAFE_TO_EVICT
from webhook.policy.pods.client_limits import INJECTED
from webhook.policy.pods.pod import PIPE_DIRECTORY
from webhook.policy.snapshot import Snapshot

_READ: Final = ("spec", "template", "inference")
"""The parts of an object that the hooks read, apart from its metadata (`webhook.admission.review`)."""

_METADATA: Final = ("name", "generateName", "namespace", "labels", "annotations", "ownerReferences")
"""The fields of the metadata that an author writes."""

_SERVER_SETS: Final = ("nodeName", "priority", "preemptionPolicy", "overhead")
"""The fields of a pod that the scheduler and admission plugins set (kubernetes plugin/pkg/admission)."""

_TOKEN_VOLUME: Final = "kube-api-access-"  # noqa: S105 - a name
_TOKEN_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - a path
"""The volume of the service account's token, and its mount (kubernetes plugin/pkg/admission/serviceaccount)."""

_DEFAULT_TOLERATIONS: Final[tuple[Object, ...]] = (
    *(
        {"key": f"node.kubernetes.io/{state}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for state in ("not-ready", "unreachable")
    ),
    {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"},
)
"""What the plugins DefaultTolerationSeconds and PodTolerationRestriction add (kubernetes plugin/pkg/admission)."""


def created(found: Object, api_version: str, kind: str) -> Object:
    """The object with the fields that the hooks read. The items of a list do not name their kind."""
    metadata = found.get("metadata") or {}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {key: metadata[key] for key in _METADATA if key in metadata},
        **{key: found[key] for key in _READ if key in found},
    }


class OwnEdits:
    """What this webhook adds to pods by its settings, and how to take it out again.

    The annotation names the injections. A value that differs from the one that the webhook adds is the author's. The
    affinity of steering stays: without it, the pod would not be what the hooks admitted.
    """

    __slots__ = ("_paths", "_runtime_classes", "_sources", "_taints", "_tolerations")

    def __init__(self, snapshot: Snapshot) -> None:
        settings = snapshot.settings
        plugin = snapshot.facts.device_plugin
        self._runtime_classes = settings.injections.runtime_class.name, plugin and plugin.runtime_class
        self._paths = frozenset(pipe.path for pipe in snapshot.pipes.values())
        self._sources = [pipe.source for pipe in snapshot.pipes.values()]
        named = [
            {"key": one.name, "operator": "Exists", "effect": "NoSchedule"} for one in settings.resources if one.renamed
        ]
        self._tolerations = [*snapshot.tolerations, *named]
        self._taints = settings.injections.tolerations.from_nodes

    def created(self, pod: Object) -> Object:
        """The pod as its author created it. The given object stays as it is."""
        made = created(pod, "v1", "Pod")
        spec = made.get("spec")
        if not isinstance(spec, dict):
            return made
        spec = {key: value for key, value in spec.items() if key not in _SERVER_SETS}
        annotations = made["metadata"].get("annotations") or {}
        injected = str(annotations.get(INJECTED, "")).split(",")
        are_ours = "tolerations" in injected
        _keep(spec, "tolerations", lambda one: not (one in _DEFAULT_TOLERATIONS or (are_ours and self._tolerates(one))))
        if "runtimeClass" in injected and spec.get("runtimeClassName") in self._runtime_classes:
            del spec["runtimeClassName"]
        volumes = {name for one in entries(spec, "volumes") if (name := str(one.get("name"))) and self._adds(one)}
        removed = {
            *(name for name in volumes if name.startswith(_TOKEN_VOLUME)),
            *(volumes if "pipeMount" in injected else ()),
        }
        self._clean_containers(spec, removed, has_variable="pipeDirectory" in injected)
        _keep(spec, "volumes", lambda one: str(one.get("name")) not in removed)
        made["spec"] = spec
        if INJECTED in annotations:
            del made["metadata"]["annotations"]
            kept = {key: value for key, value in annotations.items() if key != INJECTED}
            if SAFE_TO_EVICT in kept:  # which names each volume that the webhook added once
                names = [name for name in str(kept.pop(SAFE_TO_EVICT)).split(",") if name.strip() not in removed]
                kept |= {SAFE_TO_EVICT: ",".join(names)} if names else {}
            made["metadata"] |= {"annotations": kept} if kept else {}
        return made

    def _tolerates(self, toleration: Object) -> bool:
        """Whether the webhook adds a toleration: a configured one, or one for a taint of nodes that the settings name.

        The nodes may have other taints by now.
        """
        if toleration in self._tolerations:
            return True
        key, effect = toleration.get("key"), toleration.get("effect")
        is_of_nodes = toleration == {"key": key, "operator": "Exists", "effect": effect}
        return is_of_nodes and any(fnmatchcase(str(key), one) for one in self._taints)

    def _adds(self, volume: Object) -> bool:
        """Whether a volume is that of a service account's token, or the pipe directory of the webhook."""
        name = str(volume.get("name"))
        if name.startswith(_TOKEN_VOLUME):
            return "projected" in volume
        source = volume.get("hostPath")
        if not name.startswith("gpushare-mps-") or not isinstance(source, dict):
            return False
        # The API server adds an empty type.
        return {key: value for key, value in source.items() if key != "type" or value} in self._sources

    def _clean_containers(self, spec: Object, removed: set[str], *, has_variable: bool) -> None:
        """Take mounts and variables out of all containers. A volume that is mounted elsewhere, too, stays."""
        places = {_TOKEN_PATH, *self._paths}
        lists = ("initContainers", "containers", "ephemeralContainers")
        for container in (one for part in lists for one in entries(spec, part)):
            removed -= {
                str(one.get("name"))
                for one in entries(container, "volumeMounts")
                if str(one.get("mountPath")) not in places
            }
        own = [{"name": PIPE_DIRECTORY, "value": path} for path in self._paths] if has_variable else []
        for part in lists:
            cleaned = [dict(one) for one in entries(spec, part)]
            for container in cleaned:
                _keep(container, "volumeMounts", lambda one: str(one.get("name")) not in removed)
                _keep(container, "env", lambda one: one not in own)
            if cleaned:
                spec[part] = cleaned


def _keep(holder: Object, field: str, wanted: Callable[[Object], bool]) -> None:
    """Replace a list by its wanted elements; remove it where none is left of some."""
    held = entries(holder, field)
    kept = [one for one in held if wanted(one)]
    if kept:
        holder[field] = kept
    elif held:
        del holder[field]
