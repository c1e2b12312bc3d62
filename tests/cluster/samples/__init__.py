"""Objects of custom kinds, modelled on samples of their projects, that ask for a GPU wherever a kind has pods.

A comment in front of each names its origin. Images and arguments are left out or shortened; fields that place pods are
kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.harness.manifests import GPU

Json = Any
Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """An object, and the preset of its kind, after which its file is named."""

    preset: str
    manifest: dict[str, Json]

    @property
    def name(self) -> str:
        """Kind and name, as in `RayCluster/ray`."""
        return f"{self.kind}/{self.manifest['metadata']['name']}"

    @property
    def group(self) -> str:
        """The API group of the object."""
        return str(self.manifest["apiVersion"].partition("/")[0])

    @property
    def kind(self) -> str:
        """The kind of the object."""
        return str(self.manifest["kind"])

    @property
    def places(self) -> tuple[Place, ...]:
        """The path to every amount of GPUs."""
        return tuple(_amounts(self.manifest, ()))

    def asking(self, gpus: int, place: Place | None = None) -> Json:
        """The object with this amount at one of its places, the first unless given, and without GPUs elsewhere."""
        return _reduced(self.manifest, (), place or self.places[0], gpus)

    def idle(self) -> Json:
        """The object without GPUs."""
        return _reduced(self.manifest, (), None, 0)


def _amounts(node: Json, here: Place) -> Iterator[Place]:
    members = enumerate(node) if isinstance(node, list) else node.items() if isinstance(node, dict) else ()
    for key, value in members:
        amount = _amount(here, key, value)
        if amount is not None:
            yield amount
        else:
            yield from _amounts(value, (*here, key))


def _reduced(node: Json, here: Place, kept: Place | None, gpus: int) -> Json:
    """A node with the amount at one place, and without the amounts at others."""
    if here == kept:
        return gpus
    if isinstance(node, list):
        return [_reduced(element, (*here, index), kept, gpus) for index, element in enumerate(node)]
    if isinstance(node, dict):
        return {
            key: _reduced(value, (*here, key), kept, gpus)
            for key, value in node.items()
            if _amount(here, key, value) in (None, kept)
        }
    return node


def _amount(here: Place, key: str | int, value: Json) -> Place | None:
    """The path to the amount that a member states: of a resource by its name, or of a `gpu`; None for others."""
    if key == GPU:
        return (*here, key)
    if key == "gpu" and isinstance(value, str | int):
        return (*here, key)
    if isinstance(value, dict) and value.get("name") == GPU:
        return (*here, key, "quantity")
    return None


def _read() -> Iterator[Sample]:
    for file in sorted(Path(__file__).parent.glob("*.yaml")):
        for manifest in yaml.safe_load_all(file.read_text()):
            yield Sample(file.stem, manifest)


SAMPLES = tuple(_read())
"""Every sample."""
