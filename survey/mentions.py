"""Where manifests name a GPU resource, found without the workload paths of the product."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from survey.checked import Identity
from survey.repositories import Repository
from webhook.diagnostics import Diagnostic, dotted
from webhook.manifests import Manifest, Source, objects, sources
from webhook.policy.pods.gpu_resources import GpuResources
from webhook.policy.verdict import Path


class How(StrEnum):
    """How an object names a GPU resource, the weakest first."""

    INSIDE_TEXT = "inside a text"
    AS_TEXT = "as a text"
    AS_KEY = "as a key"


@dataclass(frozen=True, slots=True)
class Mention:
    """A place of an object that names a GPU resource."""

    how: How
    path: Path

    def __str__(self) -> str:
        return dotted(self.path)


@dataclass(slots=True)
class Named:
    """What names a GPU resource in a repository: objects, and files that hold its name at all."""

    objects: dict[Identity, Mention] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)


def named(repository: Repository, gpus: GpuResources) -> Named:
    """What names a GPU resource in the files that `check` reads. Of an object the strongest mention is kept."""
    found = Named()
    for given in sources([str(repository.path)], io.BytesIO(), _unsaid):
        if not isinstance(given, Source):
            continue  # the report has it as an error, or as a file that is not read
        if has_name(given.data.decode(errors="replace"), gpus):
            found.files.add(given.file)
        for manifest in objects(given):
            if isinstance(manifest, Manifest):
                strongest = max(mentions(manifest.value, gpus), key=_strength, default=None)
                if strongest is not None:
                    found.objects[_identity(manifest)] = strongest
    return found


def _unsaid(_notice: Diagnostic) -> None:
    """Leave out why git does not say what it ignores: it changes no count, since `check` reads the same files."""


def _strength(mention: Mention) -> int:
    return _HOW.index(mention.how)


_HOW = list(How)


def _identity(manifest: Manifest) -> Identity:
    value = manifest.value if isinstance(manifest.value, dict) else {}
    metadata = value.get("metadata")
    names = metadata if isinstance(metadata, dict) else {}
    name = names.get("name") or names.get("generateName") or ""
    kind = str(value.get("apiVersion")), str(value.get("kind"))
    return manifest.file, manifest.document, manifest.line, *kind, str(name)


def mentions(value: object, gpus: GpuResources, path: Path = ()) -> Iterator[Mention]:
    """Every place that names a GPU resource, without amounts of 0, and without labels and taints of the same name."""
    if isinstance(value, dict):
        for key, member in value.items():
            if key in gpus and member not in _NOTHING and not (path and path[-1] in _LABELS):
                yield Mention(How.AS_KEY, (*path, key))
            if key != _LABEL_OR_TAINT:
                yield from mentions(member, gpus, (*path, key))
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from mentions(member, gpus, (*path, index))
    elif isinstance(value, str):
        if value in gpus:
            yield Mention(How.AS_TEXT, path)
        elif has_name(value, gpus):
            yield Mention(How.INSIDE_TEXT, path)


_NOTHING = (None, 0, "0")
_LABELS = ("labels", "matchLabels", "nodeSelector", "annotations")
_LABEL_OR_TAINT = "key"
"""The member of tolerations, taints and match expressions that names a label or taint."""


def has_name(text: str, gpus: GpuResources) -> bool:
    """Whether a text has the name of a GPU resource among its words."""
    return any(word in gpus for word in _words(text))


def _words(text: str) -> Iterable[str]:
    return (found[0].rstrip(".") for found in re.finditer(r"[A-Za-z0-9][\w./-]*", text))
