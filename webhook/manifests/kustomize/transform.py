"""What a kustomization changes in all its objects: namespace, names, labels, annotations, replicas and images.

The fields are those of kustomize (api/internal/konfig/builtinpluginconsts).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from webhook.manifests.kustomize.nodes import Node
from webhook.manifests.kustomize.targets import Identity, identity


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
        node = old.node
        for field in ("labels", "annotations"):
            for key, value in self.node.pairs("metadata", field):
                node = node.put(("metadata", field, key), value)
        node = node if merges else node.without("data", "binaryData")
        for field in ("data", "binaryData"):
            for key, value in self.node.pairs(field):
                node = node.put((field, key), value)
        return old._replace(node=node, is_hashed=self.is_hashed or old.is_hashed)


def in_namespace(resource: Resource, namespace: Node, more: Collection[Reference]) -> Resource:
    """Return an object in another namespace, unless it lives in none, and with the namespace in further fields."""
    now, node = resource.now, resource.node
    for one in more:
        if one.kind == NAMESPACE and one.of in ("", now.kind):
            node = _changed_at(node, one.path, lambda _: namespace)
    if (now.group, now.version, now.kind) == ("", "v1", "Namespace"):
        return resource.changed(node.put(("metadata", "name"), namespace))
    return resource.changed(node if now.is_cluster_scoped else node.put(("metadata", "namespace"), namespace))


_KEEP_NAMES = ("APIService", "CustomResourceDefinition", "Namespace")


def with_name(resource: Resource, prefix: str, suffix: str) -> Resource:
    """Return an object with another name, unless it is of a kind whose names mean something."""
    if resource.identities[0].kind in _KEEP_NAMES or not prefix + suffix:
        return resource
    name = resource.node.at("metadata").at("name")
    renamed = name._replace(value=f"{prefix}{name.value}{suffix}")
    return resource.changed(resource.node.put(("metadata", "name"), renamed))


_SCALED = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")
_TEMPLATE = ("spec", "template")
_TEMPLATES: Mapping[str, Sequence[tuple[str, ...]]] = {
    **dict.fromkeys((*_SCALED, "DaemonSet", "Job"), (_TEMPLATE,)),
    "CronJob": (("spec", "jobTemplate"), ("spec", "jobTemplate", *_TEMPLATE)),
}
"""Where kinds hold what gets labels and annotations, too."""

_SELECTORS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("Service", "ReplicationController"), ("spec", "selector")),
    **dict.fromkeys(("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"), ("spec", "selector", "matchLabels")),
}


def with_metadata(resource: Resource, field: str, pairs: Node, *, in_templates: bool, in_selectors: bool) -> Resource:
    """Return an object with labels or annotations, also in its templates and in its selector."""
    node, kind = resource.node, resource.now.kind
    places: list[tuple[str, ...]] = [("metadata", field)]
    places += [(*path, "metadata", field) for path in _TEMPLATES.get(kind, ()) if in_templates]
    if in_selectors and kind in _SELECTORS:
        places.append(_SELECTORS[kind])
    for place in places:
        for key, value in pairs.pairs():
            node = node.put((*place, key), value)
    return resource._replace(node=node)


def scaled(resource: Resource, count: Node) -> Resource:
    """Return an object with another number of pods."""
    return resource._replace(node=resource.node.put(("spec", "replicas"), count))


def is_scaled(resource: Resource, name: object) -> bool:
    """Return whether an entry of `replicas` with a name is about an object."""
    return resource.now.kind in _SCALED and any(one.name == name for one in resource.identities)


_LISTS = ("containers", "initContainers")


def with_images(node: Node, images: Sequence[Node]) -> Node:
    """Return an object whose containers, wherever they are, have other images."""
    return _rewritten(node, "", lambda of, key, one: _image(one, images) if key == "image" and of in _LISTS else one)


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


def _image(image: Node, entries: Sequence[Node]) -> Node:
    for entry in entries:
        value: str = image.value
        name, sign, digest = value.partition("@")
        at = name.rfind(":") if name.rfind(":") > name.rfind("/") else len(name)
        name, tag = name[:at], name[at:]
        if name != entry.members.get("name"):
            continue
        wanted = {key: one for key, one in entry.members.items() if isinstance(one, str | int | float)}
        end = f"{tag}{sign}{digest}"
        if wanted.get("newTag") or wanted.get("digest"):
            end = f":{wanted['newTag']}" if wanted.get("newTag") else ""
            end += f"@{wanted['digest']}" if wanted.get("digest") else ""
        elif wanted.get("tagSuffix"):
            end = f"{tag}{wanted['tagSuffix']}"
        image = Node(f"{wanted.get('newName') or name}{end}", entry.source)
    return image


_REFERENCES = {
    ("", "serviceAccountName"): "ServiceAccount",
    ("persistentVolumeClaim", "claimName"): "PersistentVolumeClaim",
    ("configMap", "name"): "ConfigMap",
    ("configMapKeyRef", "name"): "ConfigMap",
    ("configMapRef", "name"): "ConfigMap",
    ("secret", "name"): "Secret",
    ("secret", "secretName"): "Secret",
    ("secretKeyRef", "name"): "Secret",
    ("secretRef", "name"): "Secret",
}
_PODS = {kind: paths[-1] for kind, paths in _TEMPLATES.items()}
"""Where kinds have the template of their pods."""


NAMESPACE = ""
"""The kind of an object that is a namespace."""


class Reference(NamedTuple):
    """A field of a kind that names an object of another kind, as configurations of kustomize add them."""

    kind: str
    of: str
    path: tuple[str, ...]


def references(configuration: Node) -> Iterator[Reference]:
    """Yield the fields of a configuration. Raises UnbuiltError for one that configures more."""
    if not configuration.members or configuration.members.keys() - {"nameReference", "namespace", "varReference"}:
        # Without `vars`, a `varReference` means nothing.
        raise configuration.error("of configurations, only `nameReference` and `namespace` are followed")
    specs = [
        (named.members.get("kind"), spec)
        for named in configuration.items_at("nameReference")
        for spec in named.items_at("fieldSpecs")
    ]
    for kind, spec in (*specs, *((NAMESPACE, spec) for spec in configuration.items_at("namespace"))):
        of, path = spec.members.get("kind"), spec.members.get("path")
        if not isinstance(kind, str) or not isinstance(of, str | None) or not isinstance(path, str):
            raise spec.error("a field needs the kind of the object that it names, and a path")
        yield Reference(kind, of or "", tuple(step.removesuffix("[]") for step in path.split("/")))


def with_references(resources: Iterable[Resource], more: Collection[Reference] = ()) -> list[Resource]:
    """Return objects whose fields name others by their present names.

    As for kustomize, only pods and workloads of Kubernetes are known to have references, apart from those of its
    configurations. A name that several objects had before means none of them.
    """
    resources = list(resources)
    kinds = {*_REFERENCES.values(), *(one.kind for one in more)}
    names: dict[tuple[str, str], set[str]] = {}
    for one in resources:
        for known in one.identities:
            if known.kind in kinds:
                names.setdefault((known.kind, known.name), set()).add(one.now.name)
    new = {(kind, old): next(iter(now)) for (kind, old), now in names.items() if len(now) == 1 and old not in now}
    return [one._replace(node=_referring(one.node, new, more)) for one in resources] if new else resources


def _referring(node: Node, new: Mapping[tuple[str, str], str], more: Collection[Reference]) -> Node:
    def renamed(kind: str, name: Node) -> Node:
        value = new.get((kind, name.value)) if isinstance(name.value, str) else None
        return name if value is None else name._replace(value=value)

    kind = node.value["kind"]
    for one in more:
        if one.of in ("", kind):
            node = _changed_at(node, one.path, partial(renamed, one.kind))
    path = ("spec",) if kind == "Pod" else (*_PODS[kind], "spec") if kind in _PODS else ()
    spec = node.get(*path) if path else None
    if spec is None:
        return node
    changed = _rewritten(spec, "", lambda field, key, name: renamed(_REFERENCES.get((field, key), ""), name))
    return node if changed is spec else node.put(path, changed)


def _changed_at(node: Node, path: Sequence[str], change: Callable[[Node], Node]) -> Node:
    """Return a value with what is at a path changed, in all items of the lists on it."""
    if isinstance(node.value, list):
        return node.of_items([_changed_at(one, path, change) for one in node.items()])
    if not path:
        return change(node)
    key, *rest = path
    return node.holding({key: _changed_at(node.at(key), rest, change)}) if key in node.members else node
