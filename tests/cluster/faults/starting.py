"""Pods that do not get as far as running: mounts, images, configuration, sandboxes, and programs that do not start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.cluster.faults.fault import both, event, of_pod, waiting
from tests.cluster.faults.stack import PRESENT
from tests.cluster.harness.manifests import container, host_path

if TYPE_CHECKING:
    from tests.cluster.faults.fault import Fault, Shows
    from tests.cluster.harness.api import Object

BROKEN = "broken"
"""A handler of the runtime that fails, as the runtime of a damaged installation."""

ABSENT = "nvidia-legacy"
"""A runtime class whose handler the runtime does not know."""


_TOKEN = {"name": "TOKEN", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "token"}}}


def _fault(name: str, expected: str, shows: Shows, *containers: Object, **spec: Any) -> Fault:
    """A fault of a pod on the node that runs pods: beside other load, the scheduler may bind pods to the others."""
    return of_pod(name, expected, shows, *containers, nodeSelector={PRESENT: "true"}, **spec)


FAULTS = (
    _fault(
        "host-path-type",
        "mount-failed",
        event("FailedMount", "hostPath type check failed"),
        container(volumeMounts=[{"name": "pipe", "mountPath": "/mps/nvidia.com/gpu/pipe"}]),
        volumes=[host_path("pipe", "/run/nvidia/no-such-folder", "Directory")],
    ),
    _fault(
        "runtime-handler-missing",
        "runtime-handler-missing",
        event("FailedCreatePodSandBox", "no runtime for"),
        runtimeClassName=ABSENT,
    ),
    _fault("sandbox", "sandbox", event("FailedCreatePodSandBox"), runtimeClassName=BROKEN),
    _fault(
        "image-missing",
        "image",
        waiting("ErrImagePull", "ImagePullBackOff"),
        {**container(), "image": "localhost:9/research/train:1"},
    ),
    _fault(
        "variable-missing",
        "container-config",
        waiting("CreateContainerConfigError"),
        container(env=[_TOKEN]),
    ),
    _fault(
        "driver-not-injected",
        "driver-not-injected",
        both(event("Failed", "nvidia-smi"), waiting("RunContainerError", "CreateContainerError", "CrashLoopBackOff")),
        container(command=["nvidia-smi", "-L"]),
    ),
    _fault(
        "program-missing",
        "container-start",
        both(event("Failed", "train"), waiting("RunContainerError", "CreateContainerError", "CrashLoopBackOff")),
        container(command=["train"]),
    ),
)
