"""Policies of Kyverno: what a rule creates or changes may ask for GPUs, what it matches and validates does not."""

from __future__ import annotations

from typing import Any

from webhook.policy.pods.reading import Members
from webhook.policy.workloads.without_pods import why_no_pods

_GROUP = "kyverno.io"
_KINDS = ("ClusterPolicy", "Policy")
_PASSIVE = frozenset(("celPreconditions", "exclude", "match", "preconditions", "validate", "verifyImages"))
"""Members of a rule that compare and select."""


def active(manifest: Members, group: str, kind: str) -> Members:
    """An object without the parts of a policy that ask for nothing. All of any other object."""
    spec = manifest.get("spec")
    if group != _GROUP or kind not in _KINDS or not isinstance(spec, dict) or not isinstance(spec.get("rules"), list):
        return manifest
    return {**manifest, "spec": {**spec, "rules": [_active(rule) for rule in spec["rules"]]}}


def _active(rule: Any) -> Any:
    if not isinstance(rule, dict):
        return rule
    left_out = _PASSIVE | {"generate"} if _makes_no_pods(rule.get("generate")) else _PASSIVE
    return {key: value for key, value in rule.items() if key not in left_out}


def _makes_no_pods(generate: Any) -> bool:
    """Whether a rule generates an object that runs no pods, such as the ResourceQuota of a new namespace."""
    if not isinstance(generate, dict) or "foreach" in generate:
        return False
    version, kind = generate.get("apiVersion"), generate.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str):
        return False
    return why_no_pods(version.rpartition("/")[0], kind) is not None
