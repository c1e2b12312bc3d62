"""Pods that do not get as far as running: mounts, images, configuration, sandboxes, and programs that do not start."""

from __future__ import annotations

from typing import Any

from tests.cluster.faults.fault import both, event, of_pod, waiting
from tests.cluster.harness.manifests import container, host_path

BROKEN = "broken"
"""A handler of the runtime that fails, as the runtime of a damaged installation."""

ABSENT = "nvidia-legacy"
"""A runtime class whose handler the runtime does not know."""


def _from(source: str, **fields: Any) -> dict[str, Any]:
    return {"name": "TOKEN", "valueFrom": {source: {"name": "settings", "key": "token", **fields}}}


_MISSING_MAP = {"name": "settings", "configMap": {"name": "settings"}}

FAULTS = (
    of_pod(
        "host-path-type",
        "mount-failed",
        event("FailedMount", "hostPath type check failed"),
        container(volumeMounts=[{"name": "pipe", "mountPath": "/mps/nvidia.com/gpu/pipe"}]),
        volumes=[host_path("pipe", "/run/nvidia/no-such-folder", "Directory")],
    ),
    of_pod(
        "config-map-missing",
        "mount-failed",
        event("FailedMount", "not found"),
        container(volumeMounts=[{"name": "settings", "mountPath": "/settings"}]),
        volumes=[_MISSING_MAP],
    ),
    of_pod(
        "runtime-handler-missing",
        "runtime-handler-missing",
        event("FailedCreatePodSandBox", "no runtime for"),
        runtimeClassName=ABSENT,
    ),
    of_pod("sandbox", "sandbox", event("FailedCreatePodSandBox"), runtimeClassName=BROKEN),
    of_pod(
        "image-missing",
        "image",
        waiting("ErrImagePull", "ImagePullBackOff"),
        {**container(), "image": "localhost:9/research/train:1"},
    ),
    of_pod("image-name", "image", waiting("InvalidImageName"), {**container(), "image": "Research/Train:1"}),
    of_pod(
        "variable-missing",
        "container-config",
        waiting("CreateContainerConfigError"),
        container(env=[_from("configMapKeyRef")]),
    ),
    of_pod(
        "root-forbidden",
        "container-config",
        waiting("CreateContainerConfigError"),
        container(securityContext={"runAsNonRoot": True}),
        runtimeClassName="nvidia",
    ),
    of_pod(
        "driver-not-injected",
        "driver-not-injected",
        both(event("Failed", "nvidia-smi"), waiting("RunContainerError", "CreateContainerError", "CrashLoopBackOff")),
        container(command=["nvidia-smi", "-L"]),
    ),
    of_pod(
        "program-missing",
        "container-start",
        both(event("Failed", "train"), waiting("RunContainerError", "CreateContainerError", "CrashLoopBackOff")),
        container(command=["train"]),
    ),
)
