"""The files of kustomizations: which of them one may use, as kustomize restricts it, and how much of them is read."""

from __future__ import annotations

import os
from posixpath import join, normpath
from typing import NamedTuple

from webhook.diagnostics import Diagnostic
from webhook.manifests import compose
from webhook.manifests.files import LARGEST, mode_of, read_file, shown
from webhook.manifests.git import work_tree
from webhook.manifests.kustomize.nodes import Node, UnbuiltError, of_document
from webhook.manifests.manifest import Document
from webhook.manifests.recognition import KUSTOMIZATION, KUSTOMIZATION_FILES
from webhook.manifests.stream import documents
from webhook.manifests.text import quoted

ADDING = ("generators", "helmCharts", "helmChartInflationGenerator")
"""Fields by which programs and charts add objects, and change none."""

_CHANGING = ("openapi", "replacements", "transformers", "validators", "vars")
"""Fields that may change any object, and are not followed."""

FIELDS = frozenset(
    """
    resources bases components namespace namePrefix nameSuffix labels commonLabels commonAnnotations replicas images
    imageTags configMapGenerator secretGenerator generatorOptions patches patchesJson6902 patchesStrategicMerge
    apiVersion kind metadata buildMetadata configurations crds helmGlobals sortOptions
    """.split()
).union(ADDING, _CHANGING)

_VERSION = ("apiVersion", "kind")
_VERSIONS = {"Kustomization": "v1beta1", "Component": "v1alpha1"}

MOST_STEPS = 1_000_000
"""Objects times the steps that look at them, and kibibytes of objects that steps change, of all kustomizations."""

MOST_BYTES = LARGEST
"""Bytes of the files that all kustomizations of a run use: what is built holds them, with the places of all values."""


class Layer(NamedTuple):
    """A kustomization as it is written. `folder` is its folder as a user names it, `real` the folder itself."""

    file: str
    folder: str
    real: str
    node: Node

    @property
    def name(self) -> str:
        """The name of the file in messages."""
        return shown(self.file)

    @property
    def is_component(self) -> bool:
        return self.node.members.get("kind") == "Component"


class Reader:
    """Reads kustomizations and the files that they name, each once.

    `contents` are the names and the bytes of all, by their real paths. `notes` are about what kustomize accepts and its
    author may not know.
    """

    def __init__(self) -> None:
        self._documents: dict[str, list[Document]] = {}
        self._layers: dict[str, Layer | Diagnostic] = {}
        self._steps = MOST_STEPS
        self._bytes = MOST_BYTES
        self.contents: dict[str, tuple[str, bytes]] = {}
        self.notes: list[Diagnostic] = []

    def layer(self, folder: str) -> Layer:
        """Return the kustomization in a folder. Raises UnbuiltError."""
        real = os.path.realpath(folder)
        if real not in self._layers:
            try:
                self._layers[real] = self._layer(folder, real)
            except UnbuiltError as error:
                self._layers[real] = error.why
        found = self._layers[real]
        if isinstance(found, Diagnostic):
            raise UnbuiltError(found)
        return found

    def _layer(self, folder: str, real: str) -> Layer:
        names = [name for name in KUSTOMIZATION_FILES if os.path.lexists(join(folder, name))]
        file = join(folder, names[0] if names else KUSTOMIZATION_FILES[0])
        if len(names) != 1:
            raise _unbuilt(file, "several kustomizations in this folder" if names else "no such kustomization")
        found = self._parsed(file, real, compose.KUSTOMIZATION)
        if len(found) != 1 or not isinstance(found[0].value, dict):
            raise _unbuilt(file, "a kustomization must be one mapping")
        node = Node(found[0].value, of_document(shown(file), found[0]))
        for key, offset in found[0].marks.repeated:
            message = f"mapping key {quoted(key)} is given twice; kustomize takes the last one"
            self.notes.append(Diagnostic(shown(file), *found[0].text.position(offset), message))
        if not any(value not in (None, "") for key, value in node.members.items() if key not in _VERSION):
            raise node.error("an empty kustomization")
        kind, version = node.members.get("kind") or "Kustomization", node.members.get("apiVersion")
        if (
            not isinstance(kind, str)
            or kind not in _VERSIONS
            or version not in (None, f"{KUSTOMIZATION[0]}/{_VERSIONS[kind]}")
        ):
            raise node.error("its kind or apiVersion is not one of kustomize")
        for key, value in node.members.items():
            if key not in FIELDS:
                raise node.at(key).error("kustomize knows no such field")
            if key in _CHANGING and value:
                raise node.at(key).error(f"`{key}` is not followed")
        return Layer(file, folder, real, node)

    def path(self, layer: Layer, entry: Node) -> str:
        """Return the path of a file or folder that a kustomization names. Raises UnbuiltError."""
        if not isinstance(entry.value, str) or not entry.value or "\0" in entry.value:
            raise entry.error("must be the path of a file or folder")
        path = normpath(join(layer.folder, entry.value))
        is_from_here = layer.folder in (".", "./") or layer.folder.startswith("./")
        return f"./{path}" if is_from_here and not f"{path}/".startswith(("../", "/")) else path

    def content(self, layer: Layer, entry: Node) -> tuple[str, bytes]:
        """Return the name and the content of a file at or below the folder of a kustomization. Raises UnbuiltError."""
        return self._content(self._file(layer, entry), layer.real)

    def documents(self, layer: Layer, entry: Node) -> tuple[str, list[Document]]:
        """Return the name and the documents of such a file. Raises UnbuiltError."""
        path = self._file(layer, entry)
        return shown(path), self._parsed(path, layer.real)

    def _file(self, layer: Layer, entry: Node) -> str:
        path = self.path(layer, entry)
        if not mode_of(path):
            raise entry.error("no such file or folder")
        return path

    def _content(self, path: str, folder: str) -> tuple[str, bytes]:
        real = os.path.realpath(path)
        if not real.startswith(f"{folder.rstrip('/')}/") or ".git" in real.removeprefix(folder).split("/"):
            raise _unbuilt(path, "a file outside the folder of its kustomization, which kustomize does not load")
        if real not in self.contents:
            data = read_file(path)
            if isinstance(data, Diagnostic):
                raise UnbuiltError(data)
            self._bytes -= len(data)
            if self._bytes < 0:
                raise _unbuilt(path, f"the files of kustomizations have more than {MOST_BYTES // 1024**2} MiB")
            self.contents[real] = shown(path), data
        return self.contents[real]

    def _parsed(self, path: str, folder: str, dialect: compose.Dialect = compose.KUSTOMIZE) -> list[Document]:
        file, data = self._content(path, folder)
        real = os.path.realpath(path)
        if real not in self._documents:
            found: list[Document] = []
            for one in documents(file, data, dialect=dialect):
                if isinstance(one, Diagnostic):
                    raise UnbuiltError(one)
                found.append(one)
            self._documents[real] = found
        return self._documents[real]

    def spend(self, layer: Layer, steps: int) -> None:
        """Count steps. Raises UnbuiltError where there were too many."""
        self._steps -= steps
        if self._steps < 0:
            raise _unbuilt(layer.file, f"all kustomizations together need more than {MOST_STEPS:,} steps")


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
