"""The objects of the guard as YAML: a fixed policy with four literals of the settings, and its binding.

There is a guard only where a denial by it implies one by the webhook; the chart decides the same by its helper. The
guard sees neither facts nor the labels of a namespace, and nothing in a pod may exempt it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from textwrap import indent
from typing import Any, Final

SUFFIX: Final = "-mode"
"""The end of the name of the ServiceAccount whose annotation caps the mode."""

SPEC: Final = files(__package__).joinpath("spec.yaml")
"""The spec of the policy. The chart has a copy."""

ALWAYS_EXCLUDED: Final = ("kube-system", "kube-node-lease")
"""Namespaces that neither the guard nor a hook of the chart sees, beside that of the installation."""

NEVER_WITH: Final = (
    "limits.fromDevicePlugin",
    "limits.mpsMayAcceptMore",
    "exempt.label",
    "exempt.annotation",
)
"""Settings by which the webhook admits what a guard denies."""

ASKED_WITH: Final = ("facts.nodes", "facts.devicePlugin", "facts.deviceClasses", "placement.nodeGroups")
"""Settings by which it may, unless a node with MPS is always there. An administrator has to say so."""

_STATIC: Final = ".static.k8s.io"
"""The end of the names in policy files (kubernetes/kubernetes, k8s.io/apiserver pkg/admission/plugin/manifest)."""

_CAP: Final = "  - name: is-not-capped\n"


def why_absent(written: Mapping[str, Any], *, asked: bool) -> str:
    """Why there is no guard for settings, in the form of a file with all its keys; empty if there is one.

    `asked`: the administrator asks for it, whatever the facts are.
    """
    if written["mode"] != "enforce":
        return f"mode is {written['mode']}"
    if not denies(written, "GPS001"):
        return f"the severity of GPS001 is {written['severities']['GPS001']}"
    if written["limits"]["perContainer"] is None:
        return "limits.perContainer is null"
    if not any(resource["kind"] == "shared" for resource in written["resources"]):
        return "no resource is shared"
    for path in NEVER_WITH if asked else NEVER_WITH + ASKED_WITH:
        section, _, key = path.partition(".")
        if written[section][key]:
            return f"{path} is set"
    if any(rule["selector"] is not None and _lowers(rule) for rule in written["namespaces"]):
        return "an entry of namespaces with a selector lowers the mode or a severity"
    return ""


def denies(written: Mapping[str, Any], code: str) -> bool:
    """Whether a check denies under settings or a rule of a namespace, as it does by default."""
    return bool(written["severities"].get(code, "deny") == "deny")


def _lowers(rule: Mapping[str, Any]) -> bool:
    return rule["mode"] not in (None, "enforce") or not all(denies(rule, code) for code in ("GPS001", "GPS002"))


def spec(written: Mapping[str, Any], *, is_static: bool = False) -> str:
    """The spec of the policy. A static one has no parameters, and so no cap."""
    text = SPEC.read_text("utf-8")
    if is_static:
        text = text.partition("\n")[2].partition(_CAP)[0]
    most = written["limits"]["perPod"] if denies(written, "GPS002") else None
    literals = {
        "@shared@": [resource["name"] for resource in written["resources"] if resource["kind"] == "shared"],
        "@perContainer@": written["limits"]["perContainer"],
        "@perPod@": most or 0,
        "@namespaces@": [name for rule in written["namespaces"] if _lowers(rule) for name in rule["names"]],
    }
    for word, value in literals.items():
        text = text.replace(word, json.dumps(value, separators=(",", ":")))
    return text


def exported(written: Mapping[str, Any], namespace: str, name: str, *, is_static: bool = False) -> str:
    """The policy and its binding for a release; and the ServiceAccount with its cap on the mode, unless static."""
    names = dict.fromkeys((namespace, *ALWAYS_EXCLUDED, *written["exempt"]["namespaces"]))
    text = _OBJECTS.format(
        name=f"{name}-guard{_STATIC if is_static else ''}",
        spec=indent(spec(written, is_static=is_static), "  "),
        excluded=json.dumps([*names]),
    )
    return text if is_static else text + _SWITCH.format(name=f"{name}{SUFFIX}", namespace=namespace)


_OBJECTS: Final = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {name}
spec:
{spec}---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {name}
spec:
  policyName: {name}
  validationActions: [Deny]
  matchResources:
    matchPolicy: Equivalent
    objectSelector: {{}}
    namespaceSelector:
      matchExpressions:
        - {{key: kubernetes.io/metadata.name, operator: NotIn, values: {excluded}}}
"""
_SWITCH: Final = """\
  # Without the object, the guard is off.
  paramRef: {{name: {name}, namespace: {namespace}, parameterNotFoundAction: Allow}}
---
# Its annotation gpushare-webhook/mode caps the mode. No pod uses it.
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {name}
  namespace: {namespace}
automountServiceAccountToken: false
"""
