"""The context of an object that the command line checks: what the checks of its pods leave out."""

from __future__ import annotations

from typing import NamedTuple

from webhook.policy.pods.reading import Members
from webhook.policy.workloads.extracted import ExtractedPod
from webhook.policy.workloads.kinds import BUILT_IN, Kind
from webhook.policy.workloads.mentions import Mention
from webhook.policy.workloads.paths import Assembly
from webhook.policy.workloads.suggestion import entry
from webhook.policy.workloads.unknown import Unknown


class ManifestObject(NamedTuple):
    """An object of a manifest, with its API group and kind."""

    manifest: Members
    group: str
    kind: str


class ObjectContext(NamedTuple):
    """An object, with all that names an amount of a GPU resource and that the checks of its pods do not read.

    `kind` is its kind, None for one without paths; `unknown` then says why no path leads to its pods. `pods` are those
    that the search found in an object of an unknown kind and that name a GPU resource. `mentions` are the amounts that
    no check of a pod reads.
    """

    held: ManifestObject
    kind: Kind | None
    unknown: Unknown | None
    pods: tuple[ExtractedPod, ...]
    mentions: tuple[Mention, ...]


def why_searched(held: ManifestObject, unknown: Unknown, found: ExtractedPod) -> str:
    """Why the pods of an object had to be searched for, and what makes the first one known."""
    said = "a search found its pods, which the webhook in the cluster does not check"
    if unknown.cause:
        return f"{unknown.cause}: {said}"
    holds = found.place.holds
    added = None if isinstance(holds, Assembly) else entry(held.group, held.kind, found.path, holds)
    return f"unknown kind: {said}" + (f"; add {added} to workloads.paths" if added else "")


def why_skipped(context: ObjectContext) -> str:
    """Why nothing of an object is checked."""
    cause = "" if context.unknown is None else context.unknown.cause
    return f"skipped: {_why_skipped(context)}" + (f"; {cause}" if cause else "")


def _why_skipped(context: ObjectContext) -> str:
    if context.mentions:
        return "nothing checks the GPU resource that it names"
    is_built_in = (context.held.group, context.held.kind) in BUILT_IN
    return "it holds no pod template" if is_built_in else "it requests no GPU resource"
