"""Pods that differ in what the webhook's injections depend on, generated from a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.cluster.harness.manifests import CAPABLE, GPU, SHARED, annotated, container, pod
from tests.cluster.mixed import MIG

if TYPE_CHECKING:
    from random import Random

    from tests.cluster.harness.api import Object

OWN_CLASS = "own"
"""A RuntimeClass that some of the pods name."""

_PIPE = "CUDA_MPS_PIPE_DIRECTORY"
_RESOURCES = (GPU, GPU, GPU, SHARED, MIG, "amd.com/gpu")
_ENVIRONMENT: tuple[Object, ...] = (
    {"name": _PIPE, "value": "/own/pipe"},
    {"name": "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "value": "20"},
    {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"},
    {"name": "UNRELATED", "value": "x"},
)
_TOLERATIONS: tuple[Object, ...] = (
    {"operator": "Exists"},
    {"key": GPU, "operator": "Exists", "effect": "NoSchedule"},
    {"key": SHARED, "operator": "Exists"},
    {"key": "dedicated", "operator": "Exists"},
)
_ANNOTATIONS = {
    "gpushare-webhook/active-thread-percentage": "30",
    "gpushare-webhook/pinned-device-memory-limit": "0=2G",
    "team": "a",
}
_FIELDS: tuple[Object, ...] = (
    {"hostIPC": True},
    {"nodeSelector": {CAPABLE: "true"}},
    {"nodeSelector": {CAPABLE: "false"}},
    {"securityContext": {"runAsUser": 1000}},
    {"volumes": [{"name": "scratch", "emptyDir": {}}]},
)


def generated(random: Random, name: str) -> Object:
    """A pod that the API server accepts; two of three ask for a GPU."""
    containers = [_container(random, f"c{index}") for index in range(random.choice((1, 1, 2, 3)))]
    spec: dict[str, Any] = {"automountServiceAccountToken": False}  # its volume has a random name
    if _happens(random, 0.2):
        restarts = random.choice(({}, {"restartPolicy": "Always"}))
        spec["initContainers"] = [_container(random, "init") | restarts]
    if _happens(random, 0.2):
        spec["runtimeClassName"] = random.choice((OWN_CLASS, "nvidia"))
    if _happens(random, 0.3):
        spec["tolerations"] = random.sample(_TOLERATIONS, k=random.choice((1, 2)))
    if _happens(random, 0.4):
        spec |= random.choice(_FIELDS)
    made = pod(name, *containers, **spec)
    keys = random.sample(sorted(_ANNOTATIONS), k=random.choice((0, 0, 1, 2)))
    return annotated(made, **{key: _ANNOTATIONS[key] for key in keys}) if keys else made


def _container(random: Random, name: str) -> Object:
    asked = random.choice((0, 1, 1, 1, 2))
    environment = random.sample(_ENVIRONMENT, k=1) if _happens(random, 0.3) else []
    return container(name, gpus=asked, resource=random.choice(_RESOURCES), env=environment)


def _happens(random: Random, share: float) -> bool:
    return random.random() < share
