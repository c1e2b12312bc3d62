"""The files of kustomizations: which ones kustomize loads, how much is read, and what it generates from them."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Callable, Iterator
from posixpath import basename, dirname, join, normpath
from typing import NamedTuple, TypeVar

from webhook.diagnostics import Diagnostic
from webhook.manifests import compose
from webhook.manifests.files import LARGEST, mode_of, read_file, shown
from webhook.manifests.git import work_tree
from webhook.manifests.kustomize.nodes import MissingError, Node, ReferrerError, UnbuiltError, of_document, text_of
from webhook.manifests.kustomize.resources import Resource, identity
from webhook.manifests.recognition import KUSTOMIZATION, KUSTOMIZATION_FILES
from webhook.manifests.stream import documents
from webhook.manifests.text import quoted

ADDING = ("generators", "helmCharts", "helmChartInflationGenerator")
"""Fields by which programs and charts add objects, and change none."""

_CHANGING = ("configurations", "openapi", "replacements", "transformers", "validators", "vars")
"""Fields that may change any object, and are not followed."""

FIELDS = frozenset(
    """
    resources bases components namespace namePrefix nameSuffix labels commonLabels commonAnnotations replicas images
    imageTags configMapGenerator secretGenerator generatorOptions patches patchesJson6902 patchesStrategicMerge
    apiVersion kind metadata buildMetadata crds helmGlobals sortOptions
    """.split()
).union(ADDING, _CHANGING)

_VERSIONS = {"Kustomization": f"{KUSTOMIZATION[0]}/v1beta1", "Component": f"{KUSTOMIZATION[0]}/v1alpha1"}

MOST_STEPS = 1_000_000
"""Objects times the steps that look at them, and kibibytes of objects that steps change, of all kustomizations."""

MOST_BYTES = LARGEST
"""Bytes of the files that all kustomizations of a run use: what is built holds them, with the places of all values."""

T = TypeVar("T")


def once(known: dict[str, T | Diagnostic], real: str, make: Callable[[], T]) -> T:
    """Return what is made for a path, the first time only. Raises UnbuiltError each time if that does."""
    if real not in known:
        try:
            known[real] = make()
        except ReferrerError:
            raise
        except UnbuiltError as error:
            known[real] = error.why
    if isinstance(found := known[real], Diagnostic):
        raise UnbuiltError(found)
    return found


class Layer(NamedTuple):
    """A kustomization as it is written. `folder` is its folder as a user names it, `real` the folder itself.

    `used` holds the real paths of the kustomization and the files that it has loaded.
    """

    file: str
    folder: str
    real: str
    node: Node
    kind: str
    used: set[str]

    def items(self, field: str) -> list[Node]:
        """Return the items of a field. Raises UnbuiltError if it is no list."""
        found = self.node.get(field)
        if found is None or found.value is None:
            return []
        if not isinstance(found.value, list):
            raise found.error(f"`{field}` must be a list")
        return found.items()


class Reader:
    """Reads kustomizations and the files that they name, each once.

    `contents` are the names and the bytes of all, by their real paths. `notes` are about what kustomize accepts and its
    author may not know.
    """

    def __init__(self) -> None:
        self._documents: dict[str, list[Node] | Diagnostic] = {}
        self._layers: dict[str, Layer | Diagnostic] = {}
        self._steps = MOST_STEPS
        self._bytes = MOST_BYTES
        self.contents: dict[str, tuple[str, bytes]] = {}
        self.notes: list[Diagnostic] = []

    def layer(self, folder: str) -> Layer:
        """Return the kustomization in a folder. Raises UnbuiltError."""
        real = os.path.realpath(folder)
        return once(self._layers, real, lambda: self._layer(folder, real))

    def _layer(self, folder: str, real: str) -> Layer:
        names = [name for name in KUSTOMIZATION_FILES if os.path.lexists(join(folder, name))]
        file = join(folder, names[0] if names else KUSTOMIZATION_FILES[0])
        if len(names) != 1:
            raise _unbuilt(file, "several kustomizations in this folder" if names else "no such kustomization")
        found = self._parsed(self._loaded(file, real), compose.KUSTOMIZATION)
        if len(found) != 1 or not isinstance(found[0].value, dict):
            raise _unbuilt(file, "a kustomization must be one mapping")
        node, document = found[0], found[0].source.origin.document
        for key, offset in document.marks.repeated:
            message = f"mapping key {quoted(key)} is given twice; kustomize takes the last one"
            self.notes.append(Diagnostic(shown(file), *document.text.position(offset), message))
        if not any(value not in (None, "") for key, value in node.members.items() if key not in ("apiVersion", "kind")):
            raise node.error("an empty kustomization")
        kind = str(node.members.get("kind") or "Kustomization")
        if kind not in _VERSIONS or node.members.get("apiVersion") not in (None, _VERSIONS[kind]):
            raise node.error("its kind or apiVersion is not one of kustomize")
        for key, value in node.members.items():
            if key not in FIELDS:
                raise node.at(key).error("kustomize knows no such field")
            if key in _CHANGING and value:
                raise node.at(key).error(f"`{key}` is not followed")
        return Layer(file, folder, real, node, kind, {real, os.path.realpath(file)})

    def path(self, layer: Layer, entry: Node) -> str:
        """Return the path of a file or folder that a kustomization names. Raises UnbuiltError."""
        if not isinstance(entry.value, str) or not entry.value or "\0" in entry.value:
            raise entry.error("must be the path of a file or folder")
        path, real = (normpath(join(folder, entry.value)) for folder in (layer.folder, layer.real))
        if os.path.realpath(path) != os.path.realpath(real):
            path = os.path.relpath(real)  # the folder is a link, and kustomize looks from the folder behind it
        is_from_here = layer.folder.split("/")[0] == "." and not f"{path}/".startswith(("../", "/"))
        return f"./{path}" if is_from_here else path

    def documents(self, layer: Layer, entry: Node) -> list[Node]:
        """Return the documents of a file at or below the folder of a kustomization. Raises UnbuiltError."""
        return self._parsed(self._used(layer, entry), compose.KUSTOMIZE)

    def _used(self, layer: Layer, entry: Node) -> str:
        path = self.path(layer, entry)
        if not mode_of(path):
            raise MissingError(entry.about("no such file or folder"))
        real = self._loaded(path, layer.real)
        # A search finds a link to the file by its own name.
        layer.used.update((real, join(os.path.realpath(dirname(path)), basename(path))))
        return real

    def _loaded(self, path: str, folder: str) -> str:
        """Return the real path of a file whose content is among those that are read."""
        real = os.path.realpath(path)
        if not is_within(real, folder):
            raise _unbuilt(path, "a file outside the folder of its kustomization, which kustomize does not load")
        if real not in self.contents:
            data = read_file(path)
            if isinstance(data, Diagnostic):
                raise UnbuiltError(data)
            self._bytes -= len(data)
            if self._bytes < 0:
                raise _unbuilt(path, f"the files of kustomizations have more than {MOST_BYTES // 1024**2} MiB")
            self.contents[real] = shown(path), data
        return real

    def _parsed(self, real: str, dialect: compose.Dialect) -> list[Node]:
        def parse() -> list[Node]:
            file, data = self.contents[real]
            found = []
            for one in documents(file, data, dialect=dialect):
                if isinstance(one, Diagnostic):
                    raise UnbuiltError(one)
                found.append(of_document(file, one))
            return found

        return once(self._documents, real, parse)

    def spend(self, layer: Layer, steps: int) -> None:
        """Count steps. Raises UnbuiltError where there were too many."""
        self._steps -= steps
        if self._steps < 0:
            raise _unbuilt(layer.file, f"all kustomizations together need more than {MOST_STEPS:,} steps")

    def generated(self, layer: Layer, kind: str, entry: Node) -> Resource:
        """Return the object of an entry of `configMapGenerator` or `secretGenerator`. Raises UnbuiltError."""
        metadata = {key: one for key in ("name", "namespace") if (one := entry.get(key)) is not None}
        node = Node({"apiVersion": "v1", "kind": kind, "metadata": {}}, entry.source).extended(("metadata",), metadata)
        if kind == "Secret":
            node = node.holding({"type": entry.get("type") or Node("Opaque", entry.source)})
        options = [one for one in (layer.node.get("generatorOptions"), entry.get("options")) if one is not None]
        for field in ("labels", "annotations"):
            for one in options:
                node = node.extended(("metadata", field), one.members_at(field))
        pairs = list(self._pairs(layer, entry))
        if len(dict(pairs)) < len(pairs):
            raise entry.error("the generator gives a key twice")
        held: dict[str, dict[str, Node]] = {"data": {}, "binaryData": {}}
        for key, value in pairs:
            content, is_binary = value.value, isinstance(value.value, bytes)
            if kind == "Secret" or is_binary:
                value = value._replace(value=b64encode(content if is_binary else content.encode()).decode())
            held["binaryData" if is_binary and kind != "Secret" else "data"][key] = value
        for field, members in held.items():
            node = node.extended((field,), members)
        is_hashed = not any(one.members.get("disableNameSuffixHash") is True for one in options)
        return Resource(node, (identity(node),), sum(len(value.value) for _, value in pairs) // 1024, is_hashed)

    def _pairs(self, layer: Layer, entry: Node) -> Iterator[tuple[str, Node]]:
        """Yield the keys of a generator and their values: text, or bytes that are no UTF-8."""
        for field in ("files", "literals", "envs", "env"):
            found = entry.get(field)
            for one in [] if found is None else [found] if field == "env" else found.items():
                if not isinstance(one.value, str):
                    raise one.error(f"an item of `{field}` must be text")
                key, sign, value = one.value.partition("=")
                if field == "literals":
                    if not key or not sign:
                        raise one.error("a literal must be of the form key=value")
                    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
                    yield key, one._replace(value=value[1:-1] if is_quoted else value)
                elif field == "files":
                    if sign and not (key and value):
                        raise one.error("a file must be of the form path, or key=path")
                    yield key if sign else basename(key), self._whole(layer, one._replace(value=value if sign else key))
                else:
                    whole = self._whole(layer, one)
                    if isinstance(whole.value, bytes):
                        raise one.error("the file of variables is not UTF-8 text")
                    for line in whole.value.removeprefix("\ufeff").split("\n"):
                        key, _, value = line.removesuffix("\r").lstrip().partition("=")
                        if key and not key.startswith("#"):
                            yield key, whole._replace(value=value)

    def _whole(self, layer: Layer, entry: Node) -> Node:
        """Return the content of a file: text, or bytes that are no UTF-8."""
        file, data = self.contents[self._used(layer, entry)]
        try:
            return text_of(file, data.decode())
        except UnicodeDecodeError:
            return text_of(file, "")._replace(value=data)


def _unbuilt(file: str, why: str) -> UnbuiltError:
    return UnbuiltError(Diagnostic(shown(file), 0, 0, why))


def is_within(real: str, folder: str) -> bool:
    """Return whether a real path is a folder or below it, and not what git keeps there."""
    below = f"{real}/".removeprefix(f"{folder.rstrip('/')}/")
    return below != f"{real}/" and ".git" not in below.split("/")


def boundary(folder: str) -> str:
    """Return the real path of the folder that holds all bases of a kustomization.

    It is the work tree of git; without one the working directory if it holds the folder, otherwise the folder itself.
    """
    real, here = os.path.realpath(folder), os.path.realpath(".")
    return work_tree(real) or (here if is_within(real, here) else real)


_REMOTE = ("://", "git@", "github.com", "?ref=", "git::", ".git//")


def is_remote(path: str, *, exists: bool) -> bool:
    """Return whether a path means a repository or an address, whether or not a local file or folder has this name."""
    host, _, rest = path.partition("/")
    return any(sign in path for sign in _REMOTE) or (not exists and "." in host.strip(".") and "/" in rest)
