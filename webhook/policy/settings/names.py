"""Types of single values in settings and facts: the names that Kubernetes allows, paths, addresses, words and numbers.

The dataclasses of the policy name these types in annotations alone, and import them under TYPE_CHECKING: defaults need
no formats.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias, get_args

from webhook.policy.settings.formats import Choice, Flag, Range, Text

_LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(?:\.{_LABEL})*"
_NAME = "(?:[A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]"
_KEY = f"(?:{_SUBDOMAIN}/)?{_NAME}"
_LONG_PREFIX = "[^/]{254,}/.*"

ANY = Text()
NAMESPACE = Text("a namespace's name: lowercase letters, digits and dashes", _LABEL, 63)
PLUGIN_VERSION = Text(
    "a version of the device plugin such as v0.20.0", r"v?[0-9]{1,9}\.[0-9]{1,9}(?:[.+-][-0-9A-Za-z.+]*)?", 63
)
NAMESPACED_NAME = Text("namespace/name of an object", f"{_LABEL}/{_SUBDOMAIN}", 317, "[^/]{64,}/.*")
CODE = Text("a check's code", "GPS[0-9]{3}")
"""`webhook.settings` narrows it to the codes of registered checks."""

SomeText: TypeAlias = Annotated[str, Text("text that is not empty", r"(?:.|\n)+")]
ResourceName: TypeAlias = Annotated[
    str,
    Text(
        "an extended resource's name such as nvidia.com/gpu",
        # Quotas put `requests.` before the domain, so that it is 9 characters shorter than others
        # (kubernetes/kubernetes pkg/apis/core/helper IsExtendedResourceName).
        f"{_SUBDOMAIN}/{_NAME}",
        308,
        but_not=r"requests\..*|[^/]*kubernetes\.io/.*|[^/]{245,}/.*",
    ),
]
LabelKey: TypeAlias = Annotated[str, Text("a label's key such as example.com/team", _KEY, 317, _LONG_PREFIX)]
LabelValue: TypeAlias = Annotated[str, Text("a label's value such as a100", f"(?:{_NAME})?", 63)]
TaintKey: TypeAlias = Annotated[str, Text("a taint's key such as nvidia.com/gpu", _KEY, 317, _LONG_PREFIX)]
TaintKeyPattern: TypeAlias = Annotated[
    str, Text("a taint's key, in which * stands for any text", "[-A-Za-z0-9_./*]+", 317)
]
OptOutLabel: TypeAlias = Annotated[
    str,
    Text("a label such as example.com/no-mps or example.com/mps=off", f"{_KEY}(?:=(?:{_NAME})?)?", 381, _LONG_PREFIX),
]
OptOutAnnotation: TypeAlias = Annotated[
    str,
    Text(
        "an annotation such as example.com/no-mps or example.com/mps=off",
        rf"{_KEY}(?:=(?:.|\n)*)?",
        but_not=r"[^/=]{254,}/(?:.|\n)*",
    ),
]
NamespaceName: TypeAlias = Annotated[str, NAMESPACE]
NamespacePattern: TypeAlias = Annotated[
    str, Text("a namespace's name, in which * stands for any text", "[-a-z0-9*]+", 63)
]
ObjectName: TypeAlias = Annotated[
    str, Text("an object's name: lowercase letters, digits, dashes and dots", _SUBDOMAIN, 253)
]
PluginVersion: TypeAlias = Annotated[str, PLUGIN_VERSION]
NamespacedName: TypeAlias = Annotated[str, NAMESPACED_NAME]
ClassPattern: TypeAlias = Annotated[
    str, Text("a RuntimeClass's or handler's name, in which * stands for any text", "[-a-z0-9.*]+", 253)
]
KindName: TypeAlias = Annotated[str, Text("a kind such as JobSet", "[A-Z][A-Za-z0-9]*", 63)]
ApiGroup: TypeAlias = Annotated[str, Text("an API group such as jobset.x-k8s.io, or empty", f"(?:{_SUBDOMAIN})?", 253)]
ApiVersion: TypeAlias = Annotated[str, Text("an API version such as v1alpha2", "v[0-9]+(?:(?:alpha|beta)[0-9]+)?", 63)]
ResourcePlural: TypeAlias = Annotated[str, Text("a resource such as jobsets", "[a-z](?:[-a-z0-9]*[a-z0-9])?", 63)]
TemplatePath: TypeAlias = Annotated[
    str,
    Text(
        "a path such as spec.replicatedJobs[*].template",
        r"[A-Za-z][A-Za-z0-9_-]*(?:\[\*\])?(?:\.(?:\*|[A-Za-z][A-Za-z0-9_-]*(?:\[\*\])?))*",
    ),
]
Folder: TypeAlias = Annotated[
    str,
    Text(
        "an absolute path below / without : and without . or .. as a part",
        r"(?:/[^/:\x00-\x1f]+)+/?",
        but_not=r".*/\.{1,2}(?:/.*)?",
    ),
]
Host: TypeAlias = Annotated[
    str, Text("an address or a host name such as 0.0.0.0, :: or localhost", r"[A-Za-z0-9_.:%-]+", 253)
]
Code: TypeAlias = Annotated[str, CODE]

Count: TypeAlias = Annotated[int, Range(1)]
"""A whole number above zero."""

Amount: TypeAlias = Annotated[int, Range(0)]
"""A whole number, zero included."""

Units: TypeAlias = Annotated[int, Range(0, 2**63 - 1)]
"""An amount of a resource in a cluster, which has validated it."""

TaintEffect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
Mode = Literal["enforce", "warn", "audit"]
Level = Literal["privileged", "baseline", "restricted"]
HostIpc: TypeAlias = Annotated[bool | Literal["required"], Flag("required")]

SeverityName = Literal["deny", "warn", "audit", "off"]
# YAML as kubectl and Helm read it takes a bare `off` for false.
Severities: TypeAlias = Mapping[Code, Annotated[SeverityName, Choice(get_args(SeverityName), ((False, "off"),))]]
