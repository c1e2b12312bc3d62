"""The context of an object that the command line checks: what the checks of its pods leave out."""

from __future__ import annotations

from dataclasses import dataclass

from webhook.policy.pods.reading import Members
from webhook.policy.workloads.extracted import ExtractedPod
from webhook.policy.workloads.search import Mention
from webhook.policy.workloads.suggestion import entry
from webhook.policy.workloads.unknown import Unknown


@dataclass(frozen=True, slots=True)
class ManifestObject:
    """An object of a manifest, with its API group and kind."""

    manifest: Members
    group: str
    kind: str


@dataclass(frozen=True, slots=True)
class ObjectContext:
    """An object, with all that names an amount of a GPU resource and that the checks of its pods do not read.

    `unknown` says why no path leads to the pods of its kind; None for a kind with paths. `pods` are those that the
    search found in an object of an unknown kind and that name a GPU resource. `mentions` are the amounts outside all
    pods.
    """

    held: ManifestObject
    unknown: Unknown | None
    pods: tuple[ExtractedPod, ...]
    mentions: tuple[Mention, ...]


def why_searched(context: ObjectContext) -> str:
    """Why the pods of an object had to be searched for, and what follows from it."""
    cause = _cause(context.unknown)
    found = "a search found its pods, which the webhook in the cluster does not check"
    first = context.pods[0]
    whole = first.place.holds if isinstance(first.place.holds, str) else "template"
    added = entry(context.held.group, context.held.kind, first.path, whole)
    return f"{cause}: {found}" + (f"; add {added} to workloads.paths" if added and cause == _UNKNOWN else "")


def why_skipped(context: ObjectContext) -> str:
    """Why nothing of an object is checked."""
    cause = _cause(context.unknown) if context.unknown is not None else ""
    named = "nothing checks the GPU resource that it names" if context.mentions else "it requests no GPU resource"
    return f"skipped: {named}" + (f"; {cause}" if cause not in ("", _UNKNOWN) else "")


_UNKNOWN = "unknown kind"


def _cause(unknown: Unknown | None) -> str:
    if unknown is not None and unknown.is_placeholder:
        return "its kind is a template placeholder"
    if unknown is not None and unknown.meant:
        return f"unknown kind (did you mean {unknown.meant}?)"
    if unknown is not None and unknown.preset:
        return f"the settings leave out the preset {unknown.preset}"
    return _UNKNOWN
