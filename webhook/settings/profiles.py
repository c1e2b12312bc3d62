"""Profiles: values that are set together, below the user's keys.

Of `host-daemon`: KAI Scheduler, aws-virtual-gpu-device-plugin and others run the daemon on the host with CUDA's own
default directory. Of `gke`: its device plugin mounts that directory and sets the limits; more than one replica is legal
on a node with a single card (GoogleCloudPlatform/container-engine-accelerators pkg/gpu/nvidia).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from webhook.policy.settings.injections import Injections
from webhook.settings.shape import camel

_CUDA_DEFAULT = "/tmp/nvidia-mps"  # noqa: S108 - where CUDA clients look when nothing tells them
_OFF = {"enabled": False}

PROFILES: Mapping[str, Mapping[str, Any]] = {
    "device-plugin": {},
    "host-daemon": {
        "injections": {
            "pipeDirectory": {"containerRoot": _CUDA_DEFAULT, "perResource": False},
            "pipeMount": {"mpsRoot": _CUDA_DEFAULT, "type": "Directory"},
        },
        "placement": {"mpsLabels": {}},
    },
    "gke": {
        "severities": {"GPS001": "warn"},
        "injections": {
            "runtimeClass": _OFF,
            "pipeDirectory": {**_OFF, "containerRoot": _CUDA_DEFAULT, "perResource": False},
            "pipeMount": {**_OFF, "mpsRoot": _CUDA_DEFAULT},
        },
        "users": {"hostIPC": True},
        "placement": {"mpsLabels": {"cloud.google.com/gke-gpu-sharing-strategy": "mps"}},
    },
    "openshift": {"injections": {"pipeMount": _OFF}},
    "none": {"injections": dict.fromkeys((camel(field.name) for field in fields(Injections)), _OFF)},
}
"""By name, in the form of a settings file."""

SAYS: Mapping[str, str] = {
    "device-plugin": "NVIDIA's device plugin runs the MPS daemons: the defaults.",
    "host-daemon": "A daemon on the host, in CUDA's default directory. Name the labels of its nodes in "
    "`placement.mpsLabels`: without them every node with GPUs could be an MPS node.",
    "gke": "GKE's own device plugin, which mounts the directory itself and accepts more than one replica where a node "
    "has one card.",
    "openshift": "NVIDIA's device plugin where pods may not mount hostPath volumes.",
    "none": "Nothing is injected; the checks stay.",
}
"""What each profile is for."""

_REPLACED_WHOLE = frozenset({"mpsLabels"})
"""Labels of the user stand in place of the profile's: both together would name two kinds of nodes."""


def beneath(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping above with the keys of the one below that it leaves open, at every depth. Lists are not joined."""
    merged = {**below, **above}
    for key in below.keys() & above.keys() - _REPLACED_WHOLE:
        if isinstance(below[key], Mapping) and isinstance(above[key], Mapping):
            merged[key] = beneath(below[key], above[key])
    return merged
