"""The objects of a kustomization, and the changes of all: namespace, names, labels, annotations, replicas and images.

The fields are those of kustomize (api/internal/konfig/builtinpluginconsts).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
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
    """By what kustomize knows an object. The namespace is empty where there is none."""

    group: str
    version: str
    kind: str
    name: str
    namespace: str


def identity(node: Node) -> Identity:
    """Return the identity of an object. Raises UnbuiltError if it lacks a kind or a name."""
    version, kind, metadata = (node.members.get(key) for key in ("apiVersion", "kind", "metadata"))
    name, namespace = (metadata.get(key) if isinstance(metadata, dict) else None for key in ("name", "namespace"))
    if not isinstance(version, str) or not isinstance(kind, str) or not isinstance(name, str) or not name:
        raise node.error("an object of a kustomization needs apiVersion, kind and metadata.name")
    group, _, version = version.rpartition("/")
    namespace = namespace if isinstance(namespace, str) and namespace else "default"
    if kind in _CLUSTER_SCOPED and ("." not in group or group.endswith(".k8s.io")):
        namespace = ""
    return Identity(group, version, kind, name, namespace)


class Resource(NamedTuple):
    """An object of a kustomization. `identities` holds those that it has had, the first one first, and the last now.

    `kibibytes` is about the size of its text. `is_hashed`: a hash of its content will end its name.
    """

    node: Node
    identities: tuple[Identity, ...]
    kibibytes: int
    is_hashed: bool = False

    @property
    def now(self) -> Identity:
        return self.identities[-1]

    def changed(self, node: Node) -> Resource:
        """Return the object with what may have another name or namespace. Raises UnbuiltError if it lacks a name."""
        now = identity(node)
        return self._replace(node=node, identities=self.identities if now == self.now else (*self.identities, now))

    def joined(self, old: Resource, *, merges: bool) -> Resource:
        """Return an old object with the content of this generated one, instead of its own or merged into it."""
        node = old.node if merges else old.node.without("data", "binaryData")
        for path in (("metadata", "labels"), ("metadata", "annotations"), ("data",), ("binaryData",)):
            node = node.extended(path, self.node.members_at(*path))
        return old._replace(node=node, is_hashed=self.is_hashed and old.is_hashed)


def changes(kustomization: Node, labels: Iterable[Node]) -> Iterator[Callable[[Resource], Resource]]:
    """Yield the changes of all objects: the namespace, names, items of `labels`, annotations. Raises UnbuiltError."""
    if (namespace := _text(kustomization, "namespace")) is not None:
        yield partial(_in_namespace, namespace)
    prefix, suffix = (_text(kustomization, key) for key in ("namePrefix", "nameSuffix"))
    if prefix or suffix:
        yield partial(with_name, prefix=prefix.value if prefix else "", suffix=suffix.value if suffix else "")
    added = [("labels", kustomization.get("commonLabels"), True, True)]
    for one in labels:
        if one.members.get("fields"):
            raise one.at("fields").error("`fields` of labels are not followed")
        in_selectors = one.members.get("includeSelectors") is True
        in_templates = in_selectors or one.members.get("includeTemplates") is True
        added.append(("labels", one.get("pairs"), in_templates, in_selectors))
    added.append(("annotations", kustomization.get("commonAnnotations"), True, False))
    for field, pairs, in_templates, in_selectors in added:
        if pairs is None or pairs.value is None:
            continue
        if not isinstance(pairs.value, dict):
            raise pairs.error(f"{field} must be a mapping")
        yield partial(_marked, field, pairs.members_at(), in_templates, in_selectors)


def _text(kustomization: Node, field: str) -> Node | None:
    found = kustomization.get(field)
    if found is not None and not isinstance(found.value, str | None):
        raise found.error("must be text")
    return found if found is not None and found.value else None


def _in_namespace(namespace: Node, resource: Resource) -> Resource:
    """Return an object in another namespace, unless it lives in none."""
    now = resource.now
    field = "name" if (now.group, now.version, now.kind) == ("", "v1", "Namespace") else "namespace"
    is_changed = field == "name" or now.namespace
    return resource.changed(resource.node.put(("metadata", field), namespace)) if is_changed else resource


def with_name(resource: Resource, prefix: str, suffix: str) -> Resource:
    """Return an object with another name, unless it is of a kind whose names mean something."""
    if resource.identities[0].kind in ("APIService", "CustomResourceDefinition", "Namespace"):
        return resource
    name = resource.node.at("metadata").at("name")
    renamed = name._replace(value=f"{prefix}{name.value}{suffix}")
    return resource.changed(resource.node.put(("metadata", "name"), renamed))


_SCALED = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")
_TEMPLATES: Mapping[str, Sequence[tuple[str, ...]]] = {
    **dict.fromkeys((*_SCALED, "DaemonSet", "Job"), (("spec", "template"),)),
    "CronJob": (("spec", "jobTemplate"), ("spec", "jobTemplate", "spec", "template")),
}
"""Where kinds hold what gets labels and annotations, too; the last one is the template of their pods."""

_SELECTORS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("Service", "ReplicationController"), ("spec", "selector")),
    **dict.fromkeys(("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"), ("spec", "selector", "matchLabels")),
}


def is_scaled(resource: Resource, name: object) -> bool:
    """Return whether an item of `replicas` with a name is about an object."""
    return resource.now.kind in _SCALED and any(one.name == name for one in resource.identities)


def _marked(field: str, pairs: Mapping[str, Node], in_templates: bool, in_selectors: bool, one: Resource) -> Resource:
    """Return an object with labels or annotations, also in its templates and in its selector."""
    kind = one.now.kind
    places: list[tuple[str, ...]] = [(*path, "metadata", field) for path in ((), *_TEMPLATES.get(kind, ()))]
    node = one.node
    for place in places if in_templates else places[:1]:
        node = node.extended(place, pairs)
    if in_selectors and kind in _SELECTORS:
        node = node.extended(_SELECTORS[kind], pairs)
    return one._replace(node=node)


def with_images(node: Node, images: Sequence[Node]) -> Node:
    """Return an object whose containers, wherever they are, have other images. Raises UnbuiltError."""
    return _rewritten(node, "", lambda of, key, one: _image(one, images) if (of, key) in _IMAGES else one)


def _rewritten(node: Node, field: str, change: Callable[[str, str, Node], Node]) -> Node:
    """Return a value whose texts are changed by their fields, and the fields that hold them; itself if none changes."""
    if isinstance(node.value, list):
        items = node.items()
        changed = [_rewritten(one, field, change) for one in items]
        is_same = all(one is other for one, other in zip(items, changed, strict=True))
        return node if is_same else node.of_items(changed)
    members: dict[str, Node] = {}
    for key, value in node.members.items():
        if isinstance(value, dict | list) or (isinstance(value, str) and key in _CHANGED):
            inner = node.at(key)
            new = change(field, key, inner) if isinstance(value, str) else _rewritten(inner, key, change)
            if new is not inner:
                members[key] = new
    return node.holding(members) if members else node


_CHANGED = ("claimName", "image", "name", "secretName", "serviceAccountName")
"""The fields of texts that change."""


_IMAGES = (("containers", "image"), ("initContainers", "image"))
_IMAGE = re.compile(r"(.*?)(:[^/:@]*)?(@.*)?", re.DOTALL)
"""The name of an image, its tag and its digest."""

_PLAIN = re.compile(r"[^\[\](){}*+?^$|\\]*")


def _image(image: Node, entries: Sequence[Node]) -> Node:
    for entry in entries:
        parts = _IMAGE.fullmatch(image.value)
        members = {key: one for key, one in entry.members.items() if isinstance(one, str | int | float) and one}
        name, tag, digest = ("", "", "") if parts is None else parts.groups("")
        if not _PLAIN.fullmatch(str(members.get("name"))) or "tagSuffix" in members:
            raise entry.error("expressions and `tagSuffix` of images are not followed")
        if name != members.get("name"):
            continue
        if "newTag" in members or "digest" in members:
            tag = f":{members['newTag']}" if "newTag" in members else ""
            digest = f"@{members['digest']}" if "digest" in members else ""
        image = Node(f"{members.get('newName', name)}{tag}{digest}", entry.source)
    return image


_REFERENCES = {
    ("", "serviceAccountName"): "ServiceAccount",
    ("persistentVolumeClaim", "claimName"): "PersistentVolumeClaim",
    ("secret", "secretName"): "Secret",
    **{(field, "name"): "ConfigMap" for field in ("configMap", "configMapKeyRef", "configMapRef")},
    **{(field, "name"): "Secret" for field in ("secret", "secretKeyRef", "secretRef")},
}
"""The kinds that fields of pods name, by the field that holds them."""


def with_references(resources: Iterable[Resource]) -> list[Resource]:
    """Return objects whose fields name others by their present names.

    As for kustomize, only pods and workloads of Kubernetes are known to have references. A name that several objects
    had before means none of them.
    """
    resources = list(resources)
    names: dict[tuple[str, str], set[str]] = {}
    for one in resources:
        for known in one.identities:
            if known.kind in _REFERENCES.values():
                names.setdefault((known.kind, known.name), set()).add(one.now.name)
    new = {(kind, old): next(iter(now)) for (kind, old), now in names.items() if len(now) == 1 and old not in now}

    def renamed(field: str, key: str, name: Node) -> Node:
        value = new.get((_REFERENCES.get((field, key), ""), name.value))
        return name if value is None else name._replace(value=value)

    for index, one in enumerate(resources if new else ()):
        kind = one.node.value["kind"]
        path = ("spec",) if kind == "Pod" else (*_TEMPLATES[kind][-1], "spec") if kind in _TEMPLATES else ()
        spec = one.node.get(*path) if path else None
        if spec is not None:
            resources[index] = one._replace(node=one.node.put(path, _rewritten(spec, "", renamed)))
    return resources


def finished(resources: Iterable[Resource]) -> list[Node]:
    """Return objects with the names that they get at the end, without those that are for tools alone."""
    named = with_references(with_name(one, "", _hash(one.node)) if one.is_hashed else one for one in resources)
    path = ("metadata", "annotations", "config.kubernetes.io/local-config")
    return [one.node for one in named if (mark := one.node.get(*path)) is None or mark.value == "false"]


_ESCAPED = (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026"), ("\u2028", "\\u2028"), ("\u2029", "\\u2029"))


def _hash(node: Node) -> str:
    """Return the end of the name of a generated object: the hash of its content (kustomize, api/hasher/hasher.go)."""
    kind = node.value["kind"]
    fields = ("data", "binaryData") if kind == "ConfigMap" else ("type", "data", "stringData")
    hashed = {"kind": kind, "name": "", "data": ""} | {key: node.value[key] for key in fields if key in node.value}
    text = json.dumps(hashed, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    for character, escape in _ESCAPED:
        text = text.replace(character, escape)
    return "-" + sha256(text.encode(errors="replace")).hexdigest()[:10].translate(str.maketrans("013ae", "ghkmt"))
