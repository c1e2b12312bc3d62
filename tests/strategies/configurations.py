"""Combinations of settings and facts, from the defaults to every opt-in."""

from __future__ import annotations

from itertools import product
from typing import Any

from hypothesis import strategies as st

from tests.strategies.pods import GPU, MIG, SHARED, WHOLE
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.placement.facts import UNKNOWN, Facts
from webhook.settings.load import load, load_facts

NAMESPACE = "team-a"

_RESOURCES = [
    {"name": GPU},
    {"name": SHARED, "renamed": True},
    {"name": WHOLE, "kind": "whole"},
]
_MPS = {
    "nvidia.com/mps.capable": "true",
    "nvidia.com/gpu.sharing-strategy": "mps",
    "nvidia.com/gpu.replicas": "4",
    "nvidia.com/gpu.product": "Tesla-T4-SHARED",
    "nvidia.com/gpu.memory": "16384",
}
_SHARED_NODE = {
    "name": "shared-1",
    "labels": _MPS,
    "taints": [{"key": GPU, "value": "present", "effect": "NoSchedule"}],
    "resources": {GPU: 4, SHARED: 4},
}
_TAKEN_NODE = {**_SHARED_NODE, "name": "shared-2", "taints": [{"key": "dedicated", "effect": "NoExecute"}]}
_WHOLE_NODE = {
    "name": "whole-1",
    "labels": {
        "nvidia.com/gpu.sharing-strategy": "none",
        "nvidia.com/gpu.replicas": "1",
        "nvidia.com/gpu.memory": "16384",
        "pool": "gpu",
    },
    "resources": {GPU: 8, WHOLE: 8, MIG: 2},
}
_SLICED_NODE = {
    "name": "sliced-1",
    "labels": {"nvidia.com/gpu.sharing-strategy": "time-slicing", "nvidia.com/gpu.replicas": "4"},
    "resources": {GPU: 4, SHARED: 4},
}
_CLASSES = [{"name": "nvidia", "handler": "nvidia"}, {"name": "kata-qemu", "handler": "kata"}]

SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {"resources": _RESOURCES},
    "steering": {"injections": {"steering": {"enabled": True}}},
    "void devices": {"injections": {"voidDevices": {"enabled": True, "pods": "all"}}},
    "no limits": {"limits": {"perContainer": None, "perPod": None}},
    "two": {"limits": {"perContainer": 2, "perPod": 2}, "users": {"runAsUser": 1000}},
    "host-daemon": {"profile": "host-daemon"},
    "gke": {"profile": "gke"},
    "openshift": {"profile": "openshift"},
    "kai": {"profile": "kai"},
    "dra": {"profile": "dra"},
    "time-slicing": {"limits": {"timeSlicing": {"perContainer": 1}}, "users": {"hostIPC": "required"}},
    "groups": {
        "placement": {
            "groupsAreComplete": True,
            "nodeGroups": [{"name": "t4", "labels": {"nvidia.com/mps.capable": "true"}, "resources": {GPU: 4}}],
        }
    },
    "none": {"profile": "none"},
    "audit": {"mode": "audit", "namespaces": [{"names": ["team-b"], "mode": "enforce"}]},
    "lenient": {"mode": "warn", "injections": {"pipeDirectory": {"when": "always"}}},
    "baseline": {"podSecurity": {"unlabelled": "baseline"}, "injections": {"tolerations": {"fromNodes": ["*"]}}},
    "mount alone": {"injections": {"pipeDirectory": {"enabled": False}, "pipeMount": {"readOnly": True, "type": ""}}},
}

FACTS: dict[str, dict[str, Any] | None] = {
    "unknown": None,
    "empty": {"nodes": [], "namespaces": [], "runtimeClasses": []},
    "shared": {"nodes": [_SHARED_NODE, _TAKEN_NODE], "runtimeClasses": _CLASSES},
    "mixed": {"nodes": [_SHARED_NODE, _WHOLE_NODE, _SLICED_NODE], "runtimeClasses": _CLASSES},
    "cdi": {"runtimeClasses": [*_CLASSES, {"name": "nvidia-legacy"}]},
    "baseline": {"namespaces": [{"name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "baseline"}}]},
    "sandboxed": {"runtimeClasses": [{"name": "nvidia", "handler": "kata-nvidia", "nodeSelector": {"pool": "gpu"}}]},
}

ORIGINS = {
    "offline": RequestContext(NAMESPACE),
    "mutate": RequestContext(NAMESPACE, hostpath=True, groups=("system:authenticated",)),
    "without hostPath": RequestContext(NAMESPACE, hostpath=False, groups=("system:authenticated",)),
}
"""The origins of a Pod that has not been mutated."""


def _nowhere(path: tuple[str | int, ...]) -> tuple[int, int]:
    return 1, 1


def _facts(value: dict[str, Any] | None) -> Facts:
    return UNKNOWN if value is None else load_facts(value, _nowhere, "facts")


EVALUATORS = {
    (settings, facts): OfflineEvaluator.of(load(SETTINGS[settings], _nowhere, settings).settings, _facts(FACTS[facts]))
    for settings, facts in product(SETTINGS, FACTS)
}

configurations = st.sampled_from(sorted(EVALUATORS))
"""The names of settings and facts."""

origins = st.sampled_from(sorted(ORIGINS))
"""The name of an origin."""
