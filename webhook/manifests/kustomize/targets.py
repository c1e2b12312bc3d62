"""The objects that a patch is about."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from webhook.manifests.kustomize.nodes import Node

_CLUSTER_SCOPED = frozenset(
    """
    APIService CSIDriver CSINode CertificateSigningRequest ClusterRole ClusterRoleBinding ClusterTrustBundle
    ComponentStatus CustomResourceDefinition DeviceClass DeviceTaintRule FlowSchema IPAddress IngressClass
    MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration Namespace Node
    PersistentVolume PodSecurityPolicy PriorityClass PriorityLevelConfiguration ResourceSlice RuntimeClass
    SelfSubjectAccessReview SelfSubjectReview SelfSubjectRulesReview ServiceCIDR StorageClass SubjectAccessReview
    TokenReview ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration
    VolumeAttachment VolumeAttributesClass
    """.split()
)
"""Kinds of Kubernetes that live in no namespace. kustomize takes those of others for kinds that live in one."""


class Identity(NamedTuple):
    """By what kustomize knows an object."""

    group: str
    version: str
    kind: str
    name: str
    namespace: str

    @property
    def is_cluster_scoped(self) -> bool:
        return self.kind in _CLUSTER_SCOPED and ("." not in self.group or self.group.endswith(".k8s.io"))


def identity(node: Node) -> Identity:
    """Return the identity of an object. Raises UnbuiltError if it lacks a kind or a name."""
    version, kind, metadata = (node.members.get(key) for key in ("apiVersion", "kind", "metadata"))
    name, namespace = (metadata.get(key) if isinstance(metadata, dict) else None for key in ("name", "namespace"))
    if not isinstance(version, str) or not isinstance(kind, str) or not isinstance(name, str) or not name:
        raise node.error("an object of a kustomization needs apiVersion, kind and metadata.name")
    group, _, version = version.rpartition("/")
    found = Identity(group, version, kind, name, namespace if isinstance(namespace, str) else "")
    return found._replace(namespace="" if found.is_cluster_scoped else found.namespace or "default")


_PATTERN = re.compile(r"(?:[\w/:-]|\\[.-]|\[[A-Za-z0-9._]+-?\]|\[[A-Za-z]-[A-Za-z0-9-]*\]|[.|()^$*+?])*", re.ASCII)
_REPEATED = re.compile(r"(?:\.\*)+")
_MOST_CHOICES = 2
"""Groups and repetitions of a pattern: the time to match a name grows with their power."""

_LONGEST = 253
"""Characters of a name, and of a pattern."""


class Selector:
    """The target of a patch: regular expressions of names, and labels and annotations. Raises UnbuiltError."""

    def __init__(self, target: Node) -> None:
        self._patterns = [_pattern(target, key) for key in ("group", "version", "kind", "name", "namespace")]
        self._wanted = [
            (key.removesuffix("Selector") + "s", _requirements(target, key))
            for key in ("labelSelector", "annotationSelector")
        ]

    def selects(self, first: Identity, now: Identity, node: Node) -> bool:
        """Return whether the object with a first and a present identity is a target."""
        group, version, kind, name, namespace = self._patterns
        return (
            _fits(group, now.group)
            and _fits(version, now.version)
            and _fits(kind, now.kind)
            and (_fits(name, first.name) or _fits(name, now.name))
            and (_fits(namespace, first.namespace) or _fits(namespace, now.namespace))
            and all(_meets(dict(node.pairs("metadata", key)), wanted) for key, wanted in self._wanted)
        )


def _fits(pattern: re.Pattern[str] | None, text: str) -> bool:
    return pattern is None or (len(text) <= _LONGEST and pattern.fullmatch(text) is not None)


def _pattern(target: Node, key: str) -> re.Pattern[str] | None:
    """Return an expression that means the same to RE2, and that a name matches or not in little time."""
    text = target.members.get(key)
    if text is None or text == "":
        return None
    text = _REPEATED.sub(".*", text) if isinstance(text, str) else "{"
    choices = sum(text.count(one) for one in "(*+?")
    is_odd = "(?" in text or ("[" in text and "--" in text) or not _PATTERN.fullmatch(text)
    if is_odd or len(text) > _LONGEST or choices > _MOST_CHOICES:
        raise target.at(key).error(f"the expression of the target's {key} is not followed")
    try:
        return re.compile(text)
    except re.error:
        raise target.at(key).error(f"the target's {key} is not a regular expression") from None


_REQUIREMENT = re.compile(
    r"\s*(?:(?P<no>!)\s*)?(?P<key>[\w./-]+)\s*(?:(?P<op>==|!=|=)\s*(?P<value>[\w.-]*)|"
    r"(?P<set>in|notin)\s*\((?P<values>[\w., -]*)\))?\s*(?:,|$)",
    re.ASCII,
)


def _requirements(target: Node, key: str) -> list[tuple[str, bool, frozenset[str] | None]]:
    """Return labels with whether they must be there, and their values; None for any value."""
    text, found, end = target.members.get(key), [], 0
    while isinstance(text, str) and end < len(text):
        one = _REQUIREMENT.match(text, end)
        if one is None:
            break
        end = one.end()
        values = one["value"] if one["op"] else one["values"]
        is_wanted = not (one["no"] or one["op"] == "!=" or one["set"] == "notin")
        found.append((one["key"], is_wanted, None if values is None else frozenset(map(str.strip, values.split(",")))))
    if text is not None and (not isinstance(text, str) or end < len(text)):
        raise target.at(key).error("the selector of the target is not followed")
    return found


def _meets(labels: Mapping[str, Node], wanted: list[tuple[str, bool, frozenset[str] | None]]) -> bool:
    return all(
        (key in labels and (values is None or str(labels[key].value) in values)) is is_wanted
        for key, is_wanted, values in wanted
    )
