"""Gates: conditions that most objects fail at once, before a policy reads them in full.

A gate is true for every object in which its rule could find a violation, and for few others. It reads the templates of
the built-in kinds; other kinds pass. The API server evaluates match conditions first, without the variables of a policy
(kubernetes/kubernetes, staging/src/k8s.io/apiserver, pkg/admission/plugin/policy/validating/validator.go).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from webhook.inprocess.cel import literal, text, texts
from webhook.inprocess.kinds import KIND
from webhook.inprocess.pods import MOST
from webhook.policy.mark import INJECTED
from webhook.policy.placement.memory import ANNOTATION
from webhook.policy.pods.client_limits import ANNOTATIONS, PREFIX
from webhook.policy.pods.gpu_resources import MIG
from webhook.policy.pods.pod import PIPE_DIRECTORY
from webhook.policy.workloads.kinds import BUILT_IN

GPUS: Final = "@gpus@"
PATHS: Final = "@paths@"
PIPES: Final = "@pipes@"
HOST_IPC: Final = "@hostIPC@"
"""What stands for data in the text of a gate: the names of GPU resources, the pipe directories by resource, the
directories of the host by these paths, and the setting `users.hostIPC`. Variables do not exist in match conditions."""


def _at(path: tuple[str, ...]) -> str:
    return "object" + "".join(f".?{step}" for step in path) + (".orValue(dyn({}))" if path else "")


_PATHS: dict[tuple[str, ...], list[str]] = {}
for _kind in BUILT_IN.values():
    for _path in _kind.paths:
        _PATHS.setdefault(_path.steps, []).append(f"{_kind.group}/{_kind.kind}")
_POD = "".join(f"{KIND} in {literal(names)} ? dyn({_at(path)}) : " for path, names in _PATHS.items()) + "dyn(null)"

_LISTS = (
    "[pod.?spec.?initContainers.orValue(null), pod.?spec.?containers.orValue(null)]"
    ".map(held, type(held) == list ? held : dyn([]))"
)
_NAMES = (
    "has(c.resources) && ("
    + " || ".join(
        f"has(c.resources.{field}) && (gpus.exists(n, n in c.resources.{field}) || "
        f"c.resources.{field}.size() <= {MOST} && c.resources.{field}.exists(n, n.startsWith({text(MIG)})))"
        for field in ("limits", "requests")
    )
    + ")"
)


def gate(test: str, or_pod: str = "false") -> str:
    """The condition that an object names a GPU resource and passes a test of its `pod`, `listed` containers and `gpus`.

    A pod too large to read passes, and so does one for which `or_pod` is true, whatever its containers name.
    """
    return (
        f"[{_POD}].exists(pod, pod == null || [{_LISTS}].exists(lists, lists.exists(list, list.size() > {MOST}) || "
        f"[lists.flatten(1)].exists(listed, "
        f"[dyn({GPUS})].exists(gpus, {or_pod} || listed.exists(c, {_NAMES}) && ({test})))))"
    )


_SHARES = "gpus.filter(n, n in c.resources.?limits.orValue({}) || n in c.resources.?requests.orValue({}))"
_AMOUNTS = "[c.resources.?limits.orValue({}), c.resources.?requests.orValue({})]"
_SEVERAL = (
    f"listed.exists(c, has(c.resources) && {_AMOUNTS}.exists(amounts, gpus.exists(n, n in amounts && "
    "!(string(amounts[n]) in ['0', '1']))))"
)

AMOUNT: Final = gate(_SEVERAL)
"""A container asks for more than one: limits are 1 or more."""

SUM: Final = gate(
    f"{_SEVERAL} || listed.map(c, has(c.resources) ? {_SHARES}.size() : 0).sum() > 1",
)
"""A container asks for more than one, or several ask, or one for several resources."""

_IS_GPU = f"(n in gpus || n.startsWith({text(MIG)}))"
_UNLIKE_LIMIT = f"{_IS_GPU} && c.resources.?limits[?n].orValue('') != c.resources.requests[n]"
QUANTITY: Final = gate(
    f"listed.exists(c, has(c.resources) && ({_AMOUNTS}.exists(amounts, "
    f"amounts.size() > {MOST} || amounts.exists(n, {_IS_GPU} && !string(amounts[n]).matches('^[0-9]+$'))) || "
    f"has(c.resources.requests) && c.resources.requests.exists(n, {_UNLIKE_LIMIT})))",
    "pod.?spec.?resources.hasValue()",
)
"""An amount is not made of digits alone, or the request of a container differs from its limit."""

_IS_OWN = (
    f"has(e.value) && has(c.resources) && {_SHARES}.size() == 1 && paths.exists(n, paths[n] == e.value && "
    "n in c.resources.?limits.orValue({}))"
)
VARIABLE: Final = gate(
    f"[dyn({PATHS})].exists(paths, listed.exists(c, has(c.env) && c.env.exists(e, e.name == {text(PIPE_DIRECTORY)} && "
    f"!({_IS_OWN}))))"
)
"""A container sets the pipe directory, and not to the path of the only resource for which it asks."""

TWO: Final = gate(f"listed.exists(c, has(c.resources) && {_SHARES}.size() > 1)")
"""A container asks for two resources."""

NAMESPACES: Final = gate(
    f"{HOST_IPC} == 'required' || has(pod.spec.hostUsers) || pod.spec.?hostPID.orValue(false) || "
    "pod.spec.?hostIPC.orValue(false)"
)
"""The pod uses a namespace of the host, or has to."""

GRACE: Final = gate("pod.spec.?terminationGracePeriodSeconds.orValue(30) == 0")
"""The pod has no grace period."""

_OWN = (
    "m.mountPath in pipes && !has(m.subPath) && !has(m.subPathExpr) && pod.spec.?volumes.orValue([]).exists(v, "
    "v.name == m.name && v.?hostPath.?path.orValue('') == pipes[m.mountPath])"
)
MOUNT: Final = gate(
    f"[dyn({PIPES})].exists(pipes, listed.exists(c, has(c.volumeMounts) && c.volumeMounts.exists(m, "
    f"pipes.exists(path, m.mountPath.contains(path.split('/')[1])) && !({_OWN}))))"
)
"""A container mounts another volume at a path with the first part of the path of a pipe directory."""

_KNOWN = texts([*(one.key for one in ANNOTATIONS), ANNOTATION])
ANNOTATED: Final = (
    f"[{_POD}].exists(pod, pod == null || [pod.?metadata.?annotations.orValue(dyn({{}}))].exists(held, "
    f"{_KNOWN}.exists(key, key in held) || held.size() <= {MOST} && held.exists(key, "
    f"key.startsWith({text(PREFIX)}) && key != {text(INJECTED)})))"
)
"""A pod has an annotation of the webhook, whatever it asks for."""


def filled(expression: str, gpus: list[str], pipes: Mapping[str, Mapping[str, str]], host_ipc: str) -> str:
    """The text of a gate with data: names of GPU resources, `path` and `host` of each pipe directory, a setting."""
    values = {
        GPUS: gpus,
        PATHS: {name: one["path"] for name, one in pipes.items()},
        PIPES: {one["path"]: one["host"] for one in pipes.values()},
        HOST_IPC: host_ipc,
    }
    for name, value in values.items():
        expression = expression.replace(name, literal(value))
    return expression
