"""Build the kustomizations of an input: accumulate their objects layer by layer, in the order of kustomize.

What would have to be fetched, run or rendered is not. A kustomization that only lacks objects for it is built without
them; one in which it may change other objects is not built.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from itertools import chain
from posixpath import dirname

from webhook.diagnostics import Diagnostic
from webhook.manifests.compose import KUSTOMIZE
from webhook.manifests.embedded import embedded
from webhook.manifests.files import is_folder, mode_of
from webhook.manifests.kustomize.generators import generated, hashed_suffix
from webhook.manifests.kustomize.merge import applied, merged
from webhook.manifests.kustomize.nodes import Built, Node, UnbuiltError, of_document
from webhook.manifests.kustomize.reader import ADDING, Layer, Reader, boundary, is_remote, is_within
from webhook.manifests.kustomize.targets import Identity, Selector, identity
from webhook.manifests.kustomize.transform import (
    Reference,
    Resource,
    in_namespace,
    is_scaled,
    references,
    scaled,
    with_images,
    with_metadata,
    with_name,
    with_references,
)
from webhook.manifests.manifest import Document, Manifest
from webhook.manifests.objects import items_of
from webhook.manifests.recognition import FRAGMENT, KUSTOMIZATION

MOST_LAYERS = 50
"""Kustomizations that include each other in a row."""

MOST_OBJECTS = 20_000
"""Objects of one kustomization."""

MOST_BYTES = 256 * 1024**2
"""Bytes of all objects that the kustomizations of a run build, each as often as it is built, with 4 KiB at least."""


class Builder:
    """Builds the kustomizations of a run. Each is accumulated once, whatever includes it.

    `used` holds the real paths of kustomizations and files that are part of what has been built, and `contents` the
    names and the bytes of those that are part of what has been built last. `unbuilt` says, by the real path of its
    folder, why a kustomization is not built, or which objects it lacks.
    """

    def __init__(self) -> None:
        self._reader = Reader()
        self._known: dict[str, _Accumulated | Diagnostic] = {}
        self._active: list[str] = []
        self._bytes = MOST_BYTES
        self.used: set[str] = set()
        self.contents: list[tuple[str, bytes]] = []
        self.unbuilt: dict[str, Diagnostic] = {}

    @property
    def notes(self) -> list[Diagnostic]:
        """What kustomize accepts and the author may not know."""
        return self._reader.notes

    def build(self, files: Iterable[str]) -> list[Built]:
        """Return the objects of the kustomizations in these files that no other one of them includes, in their order.

        Where one cannot be built, those that it includes are built on their own.
        """
        named = {os.path.realpath(dirname(file) or "."): dirname(file) for file in files}
        included = {real: self._included(folder) & named.keys() for real, folder in named.items()}
        referrers = Counter(chain.from_iterable(included.values()))
        ready, rest = deque(real for real in named if not referrers[real]), deque(named)
        found: dict[str, list[Built]] = {}
        parts: dict[int, _Accumulated] = {}
        done: set[str] = set()
        while ready or rest:
            real = (ready or rest).popleft()
            if real in done:
                continue
            done.add(real)
            if real not in self.used:
                found[real] = self._overlay(named[real], real, parts)
            referrers.subtract(included[real])
            ready.extend(one for one in included[real] if not referrers[one])
        read = self._reader.contents
        self.contents = [read[one] for one in sorted({*chain(*(part.used for part in parts.values()))}) if one in read]
        return [one for real in named for one in found.get(real, ())]

    def _included(self, folder: str) -> set[str]:
        """Return the real paths that a kustomization includes, some of which may be folders."""
        try:
            layer = self._reader.layer(folder)
            entries = chain(*(_items(layer.node, field) for field in ("resources", "bases", "components")))
            return {os.path.realpath(self._reader.path(layer, one)) for one in entries}
        except UnbuiltError:
            return set()

    def _overlay(self, folder: str, real: str, parts: dict[int, _Accumulated]) -> list[Built]:
        """Return the objects of a kustomization; none if it cannot be built. Add what it includes to the parts."""
        try:
            layer = self._reader.layer(folder)
            if layer.is_component:
                raise layer.node.error("a component that no kustomization here includes")
            found = self._accumulated(layer, boundary(folder))
            self._bytes -= sum(1024 * (4 + one.kibibytes) for one in found.resources)
            if self._bytes < 0:
                raise layer.node.error(f"all kustomizations together build more than {MOST_BYTES // 1024**2} MiB")
        except UnbuiltError as error:
            self.unbuilt[real] = error.why
            return []
        if found.lacks:
            self.unbuilt[real] = found.lacks[0]
        pending = [found]
        while pending:
            one = pending.pop()
            if id(one) not in parts:
                parts[id(one)] = one
                self.used |= one.used
                pending += one.inner
        nodes = chain((one.node for one in _finished(found)), found.parts)
        return [Built.of(one, layer.name) for one in nodes]

    def _accumulated(self, layer: Layer, within: str) -> _Accumulated:
        """Return the objects of a kustomization, whose bases lie within a folder. Raises UnbuiltError."""
        if layer.real not in self._known:
            try:
                accumulated = _Accumulated()
                self._accumulate(layer, accumulated, within)
                if layer.node.members.keys() & {"namePrefix", "nameSuffix"}:
                    accumulated.resources = with_references(accumulated.resources, accumulated.references)
                self._known[layer.real] = accumulated
            except UnbuiltError as error:
                self._known[layer.real] = error.why
        found = self._known[layer.real]
        if isinstance(found, Diagnostic):
            raise UnbuiltError(found)
        return found

    def _accumulate(self, layer: Layer, into: _Accumulated, within: str) -> None:
        """Add the objects of a kustomization or a component, and change all. Raises UnbuiltError."""
        if len(self._active) == MOST_LAYERS:
            raise layer.node.error(f"more than {MOST_LAYERS} kustomizations include each other")
        self._active.append(layer.real)
        try:
            for field in ("resources", "bases"):
                for entry in _items(layer.node, field):
                    self._add_resource(layer, entry, into, within)
            for kind in ("ConfigMap", "Secret"):
                for entry in _items(layer.node, f"{kind[0].lower()}{kind[1:]}Generator"):
                    self._generate(layer, kind, entry, into)
            for key in (key for key in ADDING if layer.node.members.get(key)):
                added = layer.node.at(key)
                into.lacks.append(added.about(f"`{key}`, from which no objects are made"))
                into.parts.append(_part(Node({}, layer.node.source).holding({key: added}), KUSTOMIZATION))
            for entry in _items(layer.node, "components"):
                component = self._folder(layer, entry, within)
                if not component.is_component:
                    raise entry.error("the folder holds no component")
                self._accumulate(component, into, within)
            for entry in _items(layer.node, "configurations"):
                file, configurations = self._reader.documents(layer, entry)
                into.used |= _paths(self._reader.path(layer, entry))
                for one in configurations:
                    into.references.update(references(Node(one.value, of_document(file, one))))
            into.used |= {layer.real, os.path.realpath(layer.file)}
            self._change(layer, into)
        finally:
            self._active.pop()

    def _folder(self, layer: Layer, entry: Node, within: str) -> Layer:
        """Return the kustomization in a folder that another one names. Raises UnbuiltError."""
        path = self._reader.path(layer, entry)
        real = os.path.realpath(path)
        if not is_folder(path):
            raise entry.error("no such file or folder")
        if not is_within(real, within):
            raise entry.error("a folder outside the checkout")
        if any(f"{one}/".startswith(f"{real}/") for one in self._active):
            raise entry.error("a kustomization includes itself, or a folder above it")
        return self._reader.layer(path)

    def _add_resource(self, layer: Layer, entry: Node, into: _Accumulated, within: str) -> None:
        path = self._reader.path(layer, entry)
        if is_remote(entry.value, exists=bool(mode_of(path))):
            into.lacks.append(entry.about("a remote resource, which is not fetched"))
        elif is_folder(path):
            inner = self._folder(layer, entry, within)
            if inner.is_component:
                raise entry.error("a component cannot be a resource")
            found = self._accumulated(inner, within)
            self._reader.spend(layer, len(found.resources))
            into.lacks += found.lacks
            into.parts += found.parts
            into.references |= found.references
            into.inner.append(found)
            into.add(found.resources)
        else:
            file, found_documents = self._reader.documents(layer, entry)
            into.used |= _paths(path)
            for document in found_documents:
                nodes = list(_objects(file, document))
                into.add(_resource(one, len(document.text.content) // len(nodes)) for one in nodes)

    def _generate(self, layer: Layer, kind: str, entry: Node, into: _Accumulated) -> None:
        def load(named: Node) -> tuple[str, bytes]:
            path = self._reader.path(layer, named)
            into.used |= _paths(path)
            return self._reader.content(layer, named)

        one = generated(kind, entry, layer.node.get("generatorOptions"), load)
        new = _resource(one.node, one.size)._replace(is_hashed=one.is_hashed)
        if one.behavior == "create":
            into.add([new])
            return
        old = into.only(new.now)
        if old is None:
            raise entry.error(f"there is no {kind} to {one.behavior}")
        into.resources[old] = new.joined(into.resources[old], merges=one.behavior == "merge")

    def _change(self, layer: Layer, into: _Accumulated) -> None:
        """Apply what a kustomization changes, in the order of kustomize."""
        for field in ("patchesStrategicMerge", "patches"):
            for entry in _items(layer.node, field):
                self._patch(layer, entry, into)
        steps = list(_steps(layer.node, into.references))
        self._reader.spend(layer, len(steps) * len(into.resources))
        for step in steps:
            into.resources = list(map(step, into.resources))
        for entry in _items(layer.node, "patchesJson6902"):
            self._patch(layer, entry, into)
        into.identify()
        node = layer.node
        for entry in _items(node, "replicas"):
            name, count = entry.members.get("name"), entry.get("count")
            if count is None:
                raise entry.error("an item of `replicas` needs a `count`")
            self._reader.spend(layer, len(into.resources))
            about = [index for index, one in enumerate(into.resources) if is_scaled(one, name)]
            if not about and not into.lacks:
                raise entry.error("there is no such object to scale")
            for index in about:
                into.resources[index] = scaled(into.resources[index], count)
        images = [*_items(node, "images"), *_items(node, "imageTags")]
        if images:
            self._reader.spend(layer, len(images) * len(into.resources) + sum(one.kibibytes for one in into.resources))
            into.resources = [one._replace(node=with_images(one.node, images)) for one in into.resources]

    def _patch(self, layer: Layer, entry: Node, into: _Accumulated) -> None:
        """Apply an item of a field with patches. Raises UnbuiltError."""
        patches, file = self._patches(layer, entry)
        target = entry.get("target")
        for patch in patches:
            self._reader.spend(layer, len(into.resources) + len(patch.value))
            if target is None:
                found = into.only(identity(patch)) if isinstance(patch.value, dict) else None
                about = [] if found is None else [found]
                if not about and (not into.lacks or isinstance(patch.value, list)):
                    raise patch.error("there is no object, or not only one, that this is a patch of")
            else:
                about = into.selected(Selector(target))
            patch = _without_identity(patch, entry) if isinstance(patch.value, dict) else patch
            if not about and into.lacks:
                into.parts.append(_part(patch, FRAGMENT))
            for index in reversed(about):
                self._reader.spend(layer, len(patch.value) * (1 + into.resources[index].kibibytes))
                into.patch(index, patch)
        into.used |= file

    def _patches(self, layer: Layer, entry: Node) -> tuple[list[Node], frozenset[str]]:
        """Return the patches that an item holds or names, and the paths of their file. Raises UnbuiltError."""
        inline, path = (entry, entry) if isinstance(entry.value, str) else (entry.get("patch"), entry.get("path"))
        if inline is not None and isinstance(inline.value, str) and (inline is not path or "\n" in inline.value):
            holder = Manifest(layer.name, inline.source.origin.document, (), layer.node.value)
            found = embedded(holder, inline.source.origin.path, KUSTOMIZE)
            if isinstance(found, Diagnostic):
                raise UnbuiltError(found)
            if found is None or "\n---" in inline.value:
                raise inline.error("a patch of this form is not followed")
            held, files = [(layer.name, found)], {os.path.realpath(layer.file)}
        elif path is not None:
            file, found_documents = self._reader.documents(layer, path)
            held, files = [(file, one) for one in found_documents], _paths(self._reader.path(layer, path))
        else:
            raise entry.error("a patch needs a `path`, or a `patch`")
        nodes = [Node(one.value, of_document(file, one)) for file, one in held]
        if not nodes or not all(isinstance(one.value, dict | list) for one in nodes):
            raise entry.error("must be a patch")
        if len(nodes) > 1 and (entry.get("target") is not None or any(isinstance(one.value, list) for one in nodes)):
            raise entry.error("kustomize accepts one patch for a target")
        return nodes, frozenset(files)


class _Accumulated:
    """The objects of a kustomization, and what it lacks.

    `parts` may be about objects that are not here: charts, and patches without an object. `used` holds the real paths
    of what is merged into the objects, apart from what the kustomizations `inner` merge.
    """

    def __init__(self) -> None:
        self.resources: list[Resource] = []
        self.lacks: list[Diagnostic] = []
        self.parts: list[Node] = []
        self.references: set[Reference] = set()
        self.used: set[str] = set()
        self.inner: list[_Accumulated] = []
        self._identities: set[Identity] = set()

    def add(self, resources: Iterable[Resource]) -> None:
        """Add objects. Raises UnbuiltError for one that is there already."""
        for one in resources:
            if one.now in self._identities:
                raise one.node.error("another object of the kustomization has this kind, name and namespace")
            if len(self.resources) == MOST_OBJECTS:
                raise one.node.error(f"a kustomization with more than {MOST_OBJECTS:,} objects")
            self._identities.add(one.now)
            self.resources.append(one)

    def identify(self) -> None:
        """Find out what changed objects are now. Raises UnbuiltError if two are the same."""
        resources, self.resources = self.resources, []
        self._identities.clear()
        self.add(resources)

    def only(self, wanted: Identity) -> int | None:
        """Return the index of the only object that has or had an identity; None without one, and of several."""
        found = [index for index, one in enumerate(self.resources) if wanted in one.identities]
        return found[0] if len(found) == 1 else None

    def selected(self, selector: Selector) -> list[int]:
        return [
            index for index, one in enumerate(self.resources) if selector.selects(one.identities[0], one.now, one.node)
        ]

    def patch(self, index: int, patch: Node) -> None:
        one = self.resources[index]
        if isinstance(patch.value, list):
            self.resources[index] = one.changed(applied(one.node, patch))
            return
        node = merged(one.node, patch)
        if node is None:
            del self.resources[index]
        else:
            self.resources[index] = one.changed(node)


def _items(node: Node, field: str) -> list[Node]:
    """Return the items of a field of a kustomization. Raises UnbuiltError if it is no list."""
    found = node.get(field)
    if found is None or found.value is None:
        return []
    if not isinstance(found.value, list):
        raise found.error(f"`{field}` must be a list")
    return found.items()


def _resource(node: Node, size: int) -> Resource:
    return Resource(node, (identity(node),), size // 1024)


def _objects(file: str, document: Document) -> Iterator[Node]:
    """Yield the objects of a document. Raises UnbuiltError."""
    value = document.value
    if not (isinstance(value, dict) and "items" in value and str(value.get("kind", "List")).endswith("List")):
        yield Node(value, of_document(file, document))
        return
    for one in items_of(file, document):
        if isinstance(one, Diagnostic):
            raise UnbuiltError(one)
        yield Node(one.value, of_document(file, document, one.path))


def _part(node: Node, kind: tuple[str, str]) -> Node:
    """Return a part of objects as an object of a kind that is searched for amounts of GPUs, and not checked."""
    holder = node if isinstance(node.value, dict) else Node({}, node.source).holding({"operations": node})
    return holder._replace(value=holder.value | {"apiVersion": f"{kind[0]}/v1beta1", "kind": kind[1]})


def _paths(path: str) -> set[str]:
    """Return the real path of a file, and that of a link to it, by which a search finds it."""
    folder, _, name = path.rpartition("/")
    return {os.path.realpath(path), f"{os.path.realpath(folder)}/{name}"}


def _without_identity(patch: Node, entry: Node) -> Node:
    """Return a patch without the kind and the name, which kustomize ignores where a target is named."""
    options = entry.get("options")
    allowed = {} if options is None else options.members
    keys = ("apiVersion",) if allowed.get("allowKindChange") is True else ("apiVersion", "kind")
    patch = patch.without(*keys)
    metadata = patch.get("metadata")
    if metadata is None or not isinstance(metadata.value, dict):
        return patch
    keys = ("namespace",) if allowed.get("allowNameChange") is True else ("name", "namespace")
    return patch.holding({"metadata": metadata.without(*keys)})


def _steps(node: Node, fields: Collection[Reference]) -> Iterator[Callable[[Resource], Resource]]:
    """Yield the changes of all objects: the namespace, the names, labels and annotations. Raises UnbuiltError."""
    namespace = node.get("namespace")
    if namespace is not None and namespace.value:
        yield partial(in_namespace, namespace=_text(namespace), more=fields)
    prefix, suffix = (_text(one).value if (one := node.get(key)) else "" for key in ("namePrefix", "nameSuffix"))
    if prefix or suffix:
        yield partial(with_name, prefix=prefix, suffix=suffix)
    added = [("labels", node.get("commonLabels"), True, True)]
    for one in _items(node, "labels"):
        in_selectors = one.members.get("includeSelectors") is True
        in_templates = in_selectors or one.members.get("includeTemplates") is True
        added.append(("labels", one.get("pairs"), in_templates, in_selectors))
    added.append(("annotations", node.get("commonAnnotations"), True, False))
    for field, pairs, in_templates, in_selectors in added:
        if pairs is None or pairs.value is None:
            continue
        if not isinstance(pairs.value, dict):
            raise pairs.error(f"{field} must be a mapping")
        yield partial(with_metadata, field=field, pairs=pairs, in_templates=in_templates, in_selectors=in_selectors)


def _text(node: Node) -> Node:
    if not isinstance(node.value, str):
        raise node.error("must be text")
    return node


def _finished(found: _Accumulated) -> list[Resource]:
    """Return objects with the names that they get at the end, without those that are for tools alone."""
    named = (with_name(one, "", hashed_suffix(one.node)) if one.is_hashed else one for one in found.resources)
    with_names = with_references(named, found.references)
    return [one for one in with_names if one.node.get("metadata", "annotations", _LOCAL) is None]


_LOCAL = "config.kubernetes.io/local-config"
