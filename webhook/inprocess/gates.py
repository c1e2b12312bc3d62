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
from webhook.inprocess.pods import MOST, MOST_MOUNTS, MOST_NAMES, MOST_VARIABLES, elements_together, known_in, mig_in
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
_POD = "request.kind.kind == 'Pod' ? dyn(object) : "
_POD += "".join(f"{KIND} in {literal(names)} ? dyn({_at(path)}) : " for path, names in _PATHS.items() if path)
_POD += "dyn(null)"


def _gate(test: str) -> str:
    """The condition that an object passes a test of its `pod` and the `lists` of its containers. A large pod passes."""
    lists = "pod.?spec.?initContainers.orValue(null), pod.?spec.?containers.orValue(null)"
    return (
        f"[{_POD}].exists(pod, pod == null || [[{lists}]].exists(lists, "
        f"lists.exists(held, type(held) == list && held.size() > {MOST}) || {test}))"
    )


def _any(test: str) -> str:
    """Whether a container `c` passes a test."""
    return f"lists.exists(held, type(held) == list && held.exists(c, has(c.resources) && {test}))"


def _many(most: int, *fields: str) -> str:
    """Whether fields of the containers have so many elements together that a test of each costs too much."""
    sizes = elements_together(*fields)
    return f"lists.map(held, type(held) != list ? 0 : held.map(c, {sizes}).sum()).sum() > {most}"


def _names_known(field: str) -> str:
    return f"has(c.resources.{field}) && {known_in(GPUS, f'c.resources.{field}')}"


_ANY_KNOWN = _any(f"({_names_known('limits')} || {_names_known('requests')})")
"""Whether any container names a GPU resource of the settings."""


def _names(field: str) -> str:
    amounts = f"c.resources.{field}"
    return f"has({amounts}) && ({known_in(GPUS, amounts)} || {amounts}.size() <= {MOST} && {mig_in(amounts)})"


_NAMES = f"({_names('limits')} || {_names('requests')})"
"""Whether a container names a GPU resource."""

_MANY_NAMES = _many(MOST_NAMES, "resources.?limits", "resources.?requests")


def _unless_many_names(test: str) -> str:
    """Whether a test holds, or, if all containers together have too many names to look at each, whether any container
    names a GPU resource of the settings.
    """
    return f"({_MANY_NAMES} ? {_ANY_KNOWN} : {test})"


_NAMES_ANY = _unless_many_names(_any(_NAMES))
"""Whether any container names a GPU resource."""

_SHARES = f"{GPUS}.filter(n, has(c.resources.limits) && n in c.resources.limits || "
_SHARES += "has(c.resources.requests) && n in c.resources.requests)"
"""Those of the settings for which a container asks."""


def _several(field: str) -> str:
    amounts = f"c.resources.{field}"
    return f"has({amounts}) && {GPUS}.exists(n, n in {amounts} && !(string({amounts}[n]) in ['0', '1']))"


_SEVERAL = _any(f"({_several('limits')} || {_several('requests')})")

AMOUNT: Final = _gate(_SEVERAL)
"""A container asks for more than one: limits are 1 or more."""

_SHARED = "lists.map(held, type(held) != list ? 0 : held.map(c, has(c.resources) && "
_SHARED += f"(has(c.resources.limits) || has(c.resources.requests)) ? {_SHARES}.size() : 0).sum()).sum()"
SUM: Final = _gate(f"({_SEVERAL} || {_SHARED} > 1)")
"""A container asks for more than one, or several ask, or one for several resources."""

TWO: Final = _gate(_any(f"{_SHARES}.size() > 1"))
"""A container asks for two resources."""

_IS_GPU = f"(n in {GPUS} || n.startsWith({text(MIG)}))"


def _odd(field: str) -> str:
    amounts = f"c.resources.{field}"
    return (
        f"has({amounts}) && ({amounts}.size() > {MOST} || "
        f"{amounts}.exists(n, {_IS_GPU} && !string({amounts}[n]).matches('^[0-9]+$')))"
    )


_UNLIKE = f"{_IS_GPU} && c.resources.?limits[?n].orValue('') != c.resources.requests[n]"
_ODD = (
    f"({_odd('limits')} || {_odd('requests')} || "
    f"has(c.resources.requests) && c.resources.requests.exists(n, {_UNLIKE}))"
)
QUANTITY: Final = _gate(f"(pod.?spec.?resources.hasValue() || {_unless_many_names(f'{_any(_ODD)} && {_any(_NAMES)}')})")
"""An amount is not made of digits alone, or the request of a container differs from its limit."""

_OWN_PATHS = f"{_SHARES}.size() == 1 ? paths.filter(n, n in c.resources.?limits.orValue({{}})).map(n, paths[n]) : []"
_SETS_ANOTHER = f"c.env.exists(e, e.name == {text(PIPE_DIRECTORY)} && !(has(e.value) && e.value in own))"
VARIABLE: Final = _gate(
    _unless_many_names(
        f"{_many(MOST_VARIABLES, 'env')} || [dyn({PATHS})].exists(paths, "
        + _any(f"has(c.env) && {_NAMES} && (c.env.size() > {MOST} || [{_OWN_PATHS}].exists(own, {_SETS_ANOTHER}))")
        + ")"
    )
)
"""A container that names a GPU sets the pipe directory, and not to the path of the only resource for which it asks."""

NAMESPACES: Final = _gate(
    f"({HOST_IPC} == 'required' || pod.?spec.?hostUsers.hasValue() || "
    f"pod.?spec.?hostPID.orValue(false) || pod.?spec.?hostIPC.orValue(false)) && {_NAMES_ANY}"
)
"""The pod uses a namespace of the host, or has to."""

GRACE: Final = _gate(f"pod.?spec.?terminationGracePeriodSeconds.orValue(30) == 0 && {_NAMES_ANY}")
"""The pod has no grace period."""

_MOST_OWN = 10
"""Volumes with the directory of a daemon that are compared with each mount. A pod with more of them passes."""

_OWN_VOLUMES = (
    "pod.spec.?volumes.orValue([]).filter(v, pipes.exists(path, pipes[path] == v.?hostPath.?path.orValue('')))"
)
_OWN = (
    "m.mountPath in pipes && !has(m.subPath) && !has(m.subPathExpr) && "
    "own.exists(v, v.name == m.name && v.hostPath.path == pipes[m.mountPath])"
)
_MOUNTS_ANOTHER = f"c.volumeMounts.exists(m, pipes.exists(path, m.mountPath.contains(path.split('/')[1])) && !({_OWN}))"
_MANY_VOLUMES = f"pod.spec.?volumes.orValue([]).size() > {MOST}"
MOUNT: Final = _gate(
    _unless_many_names(
        f"{_many(MOST_MOUNTS, 'volumeMounts')} || {_MANY_VOLUMES} || "
        f"[dyn({PIPES})].exists(pipes, [{_OWN_VOLUMES}].exists(own, "
        + _any(
            f"has(c.volumeMounts) && {_NAMES} && "
            f"(c.volumeMounts.size() > {MOST} || own.size() > {_MOST_OWN} || {_MOUNTS_ANOTHER})"
        )
        + "))"
    )
)
"""A container that names a GPU mounts another volume at a path with the first part of that of a pipe directory."""

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
