"""Profiles: values that are set together, and that the keys of the file override.

`host-daemon`: aws-virtual-gpu-device-plugin and others run the daemon on the host with CUDA's own default directory.
Nothing mounts a daemon's `/dev/shm` there, so that GPS005 has nothing to report. `gke`: its device plugin mounts that
directory and sets the limits; more than one replica is legal on a node with a single card
(GoogleCloudPlatform/container-engine-accelerators pkg/gpu/nvidia). `kai`: `nvidia.com/gpu` stands for whole cards, and
annotations ask for shares of them. Its admission sets the runtime class of fraction pods, and of no other pods
(kai-scheduler/KAI-Scheduler#1543); its example mounts the directory as DirectoryOrCreate (docs/gpu-sharing/mps).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from webhook.policy.placement.platforms import GKE_SHARING, KAI_FRACTION, KAI_MEMORY, KAI_MPS
from webhook.policy.settings import key_of
from webhook.policy.settings.settings import Injections

_CUDA_DEFAULT = "/tmp/nvidia-mps"  # noqa: S108 - where CUDA clients look by default
_OFF = {"enabled": False}

_HOST_DAEMON = {
    "pipeDirectory": {"containerRoot": _CUDA_DEFAULT, "perResource": False},
    "pipeMount": {"mpsRoot": _CUDA_DEFAULT, "type": "Directory"},
}
_KAI_CONTAINER = "gpu-fraction-container-name"
_KAI_SHARES = [{"annotation": name, "container": _KAI_CONTAINER} for name in (KAI_FRACTION, KAI_MEMORY)]
_WHOLE_CARDS = [{"name": "nvidia.com/gpu", "kind": "whole"}]
_NO_MPS = {"runtimeClass": _OFF, "pipeDirectory": _OFF, "pipeMount": _OFF}
_NO_DAEMON_MEMORY = {"GPS005": "off"}

PROFILES: Mapping[str, Mapping[str, Any]] = {
    "device-plugin": {},
    "host-daemon": {"severities": _NO_DAEMON_MEMORY, "injections": _HOST_DAEMON, "placement": {"mpsLabels": {}}},
    "gke": {
        "severities": _NO_DAEMON_MEMORY,
        "limits": {"mpsMayAcceptMore": True, "timeSlicing": {"perContainer": 1}},
        "injections": {
            "runtimeClass": _OFF,
            "pipeDirectory": {**_OFF, "containerRoot": _CUDA_DEFAULT, "perResource": False},
            "pipeMount": {**_OFF, "mpsRoot": _CUDA_DEFAULT},
        },
        "users": {"hostIPC": "required"},
        "placement": {
            "mpsLabels": {GKE_SHARING: "mps"},
            "timeSlicingLabels": {GKE_SHARING: "time-sharing"},
        },
    },
    "openshift": {"injections": {"runtimeClass": _OFF, "pipeMount": _OFF}},
    "kai": {
        "severities": _NO_DAEMON_MEMORY,
        "resources": _WHOLE_CARDS,
        "injections": {
            "runtimeClass": _OFF,
            "pipeDirectory": _HOST_DAEMON["pipeDirectory"],
            "pipeMount": {"mpsRoot": _CUDA_DEFAULT, "type": "DirectoryOrCreate"},
        },
        "placement": {"mpsLabels": {KAI_MPS: "true"}},
        "requests": {"annotations": _KAI_SHARES},
    },
    "nv-fractions": {
        "resources": _WHOLE_CARDS,
        "injections": _NO_MPS,
        "requests": {"annotations": _KAI_SHARES, "fractions": True},
    },
    "dra": {"resources": _WHOLE_CARDS, "injections": _NO_MPS},
    "whole-cards": {"resources": _WHOLE_CARDS, "injections": {"pipeDirectory": _OFF, "pipeMount": _OFF}},
    "none": {"injections": {key_of(field): _OFF for field in fields(Injections) if hasattr(field.default, "enabled")}},
}
"""The values by profile, as a settings file spells them."""

DESCRIPTIONS: Mapping[str, str] = {
    "device-plugin": "NVIDIA's device plugin runs the MPS daemons: the defaults.",
    "host-daemon": "A daemon on the host, in CUDA's default directory. Name the labels of its nodes in "
    "`placement.mpsLabels`: without them any node with GPUs may be an MPS node.",
    "gke": "GKE's own device plugin, which mounts the directory itself and accepts more than one replica on a node "
    "with one card.",
    "openshift": "NVIDIA's device plugin where pods may not mount hostPath volumes, and CRI-O needs no runtime class.",
    "kai": "KAI Scheduler with an MPS daemon on the host: its annotations count as requests for a share, "
    "`nvidia.com/gpu` stands for whole cards, and KAI sets the runtime class itself.",
    "nv-fractions": "KAI Scheduler with its GPU fractioning operator, which sets all that a share needs except for "
    "tolerations: the operator's annotations are checked, and `nvidia.com/gpu` stands for whole cards.",
    "dra": "A DeviceClass serves `nvidia.com/gpu` (`extendedResourceName`): nothing limits requests for it.",
    "whole-cards": "Nodes share no GPUs: nothing limits requests or is said about MPS. Names, quantities, launchers, "
    "runtime class and tolerations stay.",
    "none": "Nothing is injected; the checks stay.",
}
"""What each profile is for."""

REPLACED_WHOLE = frozenset({"mpsLabels", "timeSlicingLabels"})
"""Labels of the file replace those of the profile: together they would name two kinds of nodes."""


def beneath(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping `above`, completed with keys of `below` at every depth. Lists are not merged."""
    merged = {**below, **above}
    for key in below.keys() & above.keys() - REPLACED_WHOLE:
        if isinstance(below[key], Mapping) and isinstance(above[key], Mapping):
            merged[key] = beneath(below[key], above[key])
    return merged
