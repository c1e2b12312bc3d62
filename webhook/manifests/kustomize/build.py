"""Build the kustomizations of an input: accumulate their objects layer by layer, in the order of kustomize.

What would have to be fetched, run or rendered is not. A kustomization that only lacks objects for it is built without
them; one in which it may change other objects is not built.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from posixpath import dirname

from webhook.diagnostics import Diagnostic
from webhook.manifests.compose import KUSTOMIZE
from webhook.manifests.embedded import embedded
from webhook.manifests.files import is_folder, mode_of, shown
from webhook.manifests.kustomize import resources
from webhook.manifests.kustomize.merge import applied, merged, selector
from webhook.manifests.kustomize.nodes import Built, MissingError, Node, ReferrerError, UnbuiltError, of_document
from webhook.manifests.kustomize.reader import ADDING, Layer, Reader, boundary, is_remote, is_within, once
from webhook.manifests.manifest import Manifest
from webhook.manifests.objects import items_of
from webhook.manifests.recognition import FRAGMENT, KUSTOMIZATION

MOST_LAYERS = 50
"""Kustomizations that include each other in a row."""

MOST_BYTES = 256 * 1024**2
"""Bytes of all objects that the kustomizations of a run build, each as often as it is built, with 4 KiB at least."""


class Builder:
    """Builds the kustomizations of a run. Each is accumulated once, whatever includes it.

    `used` holds the real paths of kustomizations and files that are part of what has been built, and `contents` the
    names and the bytes of those that are part of what has been built last. `unbuilt` says, by the real path of its
    folder, why a kustomization is not built, or which objects it lacks. `notes` are those of the reader.
    """

    def __init__(self) -> None:
        self._reader = Reader()
        self.notes = self._reader.notes
        self._known: dict[str, _Accumulated | Diagnostic] = {}
        self._active: list[str] = []
        self._bytes = MOST_BYTES
        self.used: set[str] = set()
        self.contents: list[tuple[str, bytes]] = []
        self.unbuilt: dict[str, Diagnostic] = {}

    def build(self, files: Iterable[str]) -> list[Built]:
        """Return the objects of the kustomizations in these files that no other one of them includes, in their order.

        Where one cannot be built, those that it includes are built on their own.
        """
        named = {os.path.realpath(dirname(file) or "."): dirname(file) for file in files}
        included = {real: self._included(folder) & named.keys() for real, folder in named.items()}
        referrers = Counter(chain.from_iterable(included.values()))
        found: dict[str, list[Built]] = {}
        parts: dict[int, _Accumulated] = {}
        # Those that include each other come last.
        for first in sorted(named, key=lambda real: referrers[real] > 0):
            pending = [first]
            while pending:
                real = pending.pop()
                if real in found:
                    continue
                found[real] = [] if real in self.used else self._overlay(named[real], real, parts)
                referrers.subtract(included[real])
                pending += [one for one in included[real] if not referrers[one]]
        read = self._reader.contents
        self.contents = [read[one] for one in sorted({*chain(*(part.used for part in parts.values()))}) if one in read]
        return [one for real in named for one in found[real]]

    def _included(self, folder: str) -> set[str]:
        """Return the real paths that a kustomization includes, some of which may be folders."""
        try:
            layer = self._reader.layer(folder)
            entries = chain(*map(layer.items, ("resources", "bases", "components")))
            return {os.path.realpath(self._reader.path(layer, one)) for one in entries}
        except UnbuiltError:
            return set()

    def _overlay(self, folder: str, real: str, parts: dict[int, _Accumulated]) -> list[Built]:
        """Return the objects of a kustomization; none if it cannot be built. Add what it includes to the parts."""
        try:
            layer = self._reader.layer(folder)
            if layer.kind == "Component":
                raise layer.node.error("a component that no kustomization here includes")
            found = self._accumulated(layer, boundary(folder))
            self._bytes -= 1024 * sum(4 + one.kibibytes for one in found.resources) + 4096 * len(found.parts)
            if self._bytes < 0:
                raise layer.node.error(f"all kustomizations together build more than {MOST_BYTES // 1024**2} MiB")
        except UnbuiltError as error:
            self.unbuilt[real] = error.why
            return []
        self.unbuilt.update((real, why) for why in found.lacks[:1])
        pending = [found]
        while pending:
            one = pending.pop()
            if id(one) not in parts:
                parts[id(one)] = one
                self.used |= one.used
                pending += one.inner
        nodes = chain(resources.finished(found.resources), found.parts)
        return [Built.of(one, shown(layer.file)) for one in nodes]

    def _accumulated(self, layer: Layer, within: str) -> _Accumulated:
        """Return the objects of a kustomization, whose bases lie within a folder. Raises UnbuiltError."""

        def accumulate() -> _Accumulated:
            new = _Accumulated()
            self._accumulate(layer, new, within)
            if layer.node.members.keys() & {"namePrefix", "nameSuffix"}:
                new.resources = resources.with_references(new.resources)
            return new

        return once(self._known, layer.real, accumulate)

    def _accumulate(self, layer: Layer, into: _Accumulated, within: str) -> None:
        """Add the objects of a kustomization or a component, and change all. Raises UnbuiltError."""
        if len(self._active) == MOST_LAYERS:
            raise ReferrerError(layer.node.about(f"more than {MOST_LAYERS} kustomizations include each other"))
        self._active.append(layer.real)
        try:
            for entry in chain(layer.items("resources"), layer.items("bases")):
                self._add_resource(layer, entry, into, within)
            for kind in ("ConfigMap", "Secret"):
                for entry in layer.items(f"{kind[0].lower()}{kind[1:]}Generator"):
                    self._generate(layer, kind, entry, into)
            for key in (key for key in ADDING if layer.node.members.get(key)):
                added = layer.node.at(key)
                into.lacks.append(added.about(f"`{key}`, from which no objects are made"))
                into.parts.append(_part(Node({}, layer.node.source).holding({key: added}), KUSTOMIZATION))
            for entry in layer.items("components"):
                self._accumulate(self._folder(layer, entry, within, is_component=True), into, within)
            self._change(layer, into)
            into.used |= layer.used
        finally:
            self._active.pop()

    def _folder(self, layer: Layer, entry: Node, within: str, *, is_component: bool) -> Layer:
        """Return the kustomization in a folder that another one names. Raises UnbuiltError."""
        path = self._reader.path(layer, entry)
        real = os.path.realpath(path)
        if not is_folder(path):
            raise entry.error("no such file or folder")
        if not is_within(real, within):
            raise entry.error("a folder outside the checkout")
        if any(f"{one}/".startswith(f"{real}/") for one in self._active):
            raise ReferrerError(entry.about("a kustomization includes itself, or a folder above it"))
        found = self._reader.layer(path)
        if (found.kind == "Component") is not is_component:
            raise entry.error("holds no component" if is_component else "a component cannot be a resource")
        return found

    def _add_resource(self, layer: Layer, entry: Node, into: _Accumulated, within: str) -> None:
        path = self._reader.path(layer, entry)
        if is_remote(entry.value, exists=bool(mode_of(path))):
            into.lacks.append(entry.about("a remote resource, which is not fetched"))
        elif is_folder(path):
            found = self._accumulated(self._folder(layer, entry, within, is_component=False), within)
            self._reader.spend(layer, len(found.resources) + len(found.lacks) + len(found.parts))
            into.lacks += found.lacks
            into.parts += found.parts
            into.inner.append(found)
            into.resources += found.resources
        else:
            for document in self._reader.documents(layer, entry):
                nodes = list(_objects(document))
                self._reader.spend(layer, len(nodes))
                size = len(document.source.origin.document.text.content) // 1024 // (len(nodes) or 1)
                into.resources += [resources.Resource(one, (resources.identity(one),), size) for one in nodes]

    def _generate(self, layer: Layer, kind: str, entry: Node, into: _Accumulated) -> None:
        try:
            new = self._reader.generated(layer, kind, entry)
        except MissingError as error:  # git ignores a file of secrets
            into.lacks.append(error.why)
            return
        behavior = entry.members.get("behavior")
        if behavior not in ("merge", "replace"):
            into.resources.append(new)
            return
        self._reader.spend(layer, len(into.resources))
        found = into.about(new.now)
        if len(found) != 1:
            raise entry.error(f"there is no {kind} to {behavior}")
        into.resources[found[0]] = new.joined(into.resources[found[0]], merges=behavior == "merge")

    def _change(self, layer: Layer, into: _Accumulated) -> None:
        """Apply what a kustomization changes, in the order of kustomize."""
        into.identify()
        for entry in chain(layer.items("patchesStrategicMerge"), layer.items("patches")):
            self._patch(layer, entry, into)
        steps = list(resources.changes(layer.node, layer.items("labels")))
        self._reader.spend(layer, (2 + len(steps)) * len(into.resources))
        for step in steps:
            into.resources = list(map(step, into.resources))
        for entry in layer.items("patchesJson6902"):
            self._patch(layer, entry, into)
        into.identify()
        for entry in layer.items("replicas"):
            name, count = entry.members.get("name"), entry.get("count")
            if count is None:
                raise entry.error("an item of `replicas` needs a `count`")
            self._reader.spend(layer, len(into.resources))
            about = [index for index, one in enumerate(into.resources) if resources.is_scaled(one, name)]
            if not about and not into.lacks:
                raise entry.error("there is no such object to scale")
            for index in about:
                one = into.resources[index]
                into.resources[index] = one._replace(node=one.node.put(("spec", "replicas"), count))
        images = [*layer.items("images"), *layer.items("imageTags")]
        if images:
            self._reader.spend(layer, len(images) * len(into.resources) + sum(one.kibibytes for one in into.resources))
            into.resources = [one._replace(node=resources.with_images(one.node, images)) for one in into.resources]

    def _patch(self, layer: Layer, entry: Node, into: _Accumulated) -> None:
        """Apply an item of a field with patches. Raises UnbuiltError."""
        target, options = entry.get("target"), entry.get("options")
        if options is not None and any(options.members.values()):
            raise options.error("`options` of patches are not followed")
        selects = None if target is None else selector(target)
        for patch in self._patches(layer, entry):
            self._reader.spend(layer, len(into.resources) + len(patch.value))
            if selects is not None:
                found = [index for index, one in enumerate(into.resources) if selects(one)]
            elif isinstance(patch.value, list):
                raise patch.error("operations need a `target`")
            else:
                found = into.about(resources.identity(patch))
                if len(found) != 1 and not into.lacks:
                    raise patch.error("there is no object, or not only one, that this is a patch of")
                found = found if len(found) == 1 else []
            is_merge = isinstance(patch.value, dict)
            if is_merge:  # where a target is named, kustomize ignores the kind and the name of the patch
                patch = patch.without("apiVersion", "kind")
                if isinstance(patch.value.get("metadata"), dict):
                    patch = patch.holding({"metadata": patch.at("metadata").without("name", "namespace")})
            if not found and into.lacks:
                into.parts.append(_part(patch, FRAGMENT))
            for index in reversed(found):
                one = into.resources[index]
                # Each operation copies what it changes, which those before it may have enlarged.
                self._reader.spend(layer, len(patch.value) * (1 + one.kibibytes + len(patch.value) // 32))
                node = merged(one.node, patch) if is_merge else applied(one.node, patch)
                into.resources[index : index + 1] = [] if node is None else [one.changed(node)]

    def _patches(self, layer: Layer, entry: Node) -> list[Node]:
        """Return the patches that an item holds or names. Raises UnbuiltError."""
        is_text = isinstance(entry.value, str)
        inline = entry if is_text and "\n" in entry.value else entry.get("patch")
        path = entry if is_text else entry.get("path")
        if inline is not None and isinstance(inline.value, str):
            origin = inline.source.origin
            holder = Manifest(origin.file, origin.document, (), layer.node.value)
            found = embedded(holder, origin.path, KUSTOMIZE)
            if isinstance(found, Diagnostic):
                raise UnbuiltError(found)
            if found is None or "\n---" in inline.value:
                raise inline.error("a patch of this form is not followed")
            patches = [of_document(origin.file, found)]
        elif path is not None:
            patches = self._reader.documents(layer, path)
        else:
            raise entry.error("a patch needs a `path`, or a `patch`")
        kinds = {type(one.value) for one in patches}
        if not kinds or kinds - {dict, list}:
            raise entry.error("must be a patch")
        if len(patches) > 1 and (list in kinds or entry.get("target") is not None):
            raise entry.error("kustomize accepts one patch for a target")
        return patches


class _Accumulated:
    """The objects of a kustomization, and what it lacks.

    `parts` may be about objects that are not here: charts, and patches without an object. `used` holds the real paths
    of what is merged into the objects, apart from what the kustomizations `inner` merge.
    """

    def __init__(self) -> None:
        self.resources: list[resources.Resource] = []
        self.lacks: list[Diagnostic] = []
        self.parts: list[Node] = []
        self.used: set[str] = set()
        self.inner: list[_Accumulated] = []

    def identify(self) -> None:
        """Find out what the objects are now. Raises UnbuiltError if two are the same."""
        known: set[resources.Identity] = set()
        for one in self.resources:
            if one.now in known:
                raise one.node.error("another object of the kustomization has this kind, name and namespace")
            known.add(one.now)

    def about(self, wanted: resources.Identity) -> list[int]:
        """Return the indices of the objects that have or had an identity."""
        return [index for index, one in enumerate(self.resources) if wanted in one.identities]


def _objects(document: Node) -> Iterator[Node]:
    """Yield the objects of a document. Raises UnbuiltError."""
    origin = document.source.origin
    if not ("items" in document.members and str(document.members.get("kind", "List")).endswith("List")):
        yield document
        return
    for one in items_of(origin.file, origin.document):
        if isinstance(one, Diagnostic):
            raise UnbuiltError(one)
        yield Node(one.value, document.source.below("items").below(one.path[1]))


def _part(node: Node, kind: tuple[str, str]) -> Node:
    """Return a part of objects as an object of a kind that is searched for amounts of GPUs, and not checked."""
    holder = node if isinstance(node.value, dict) else Node({}, node.source).holding({"operations": node})
    return holder._replace(value=holder.value | {"apiVersion": f"{kind[0]}/v1beta1", "kind": kind[1]})
