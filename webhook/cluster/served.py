"""The kinds with pods that a cluster serves, in the version and under the plural that its API server names."""

from __future__ import annotations

from webhook.cluster.objects import Kind, LiveObjects, Object
from webhook.cluster.reading import entries, part, word
from webhook.policy.workloads.kinds import BUILT_IN, Kinds


async def served(objects: LiveObjects, kinds: Kinds) -> list[Kind]:
    """Return the kinds that the cluster serves, but for Pod: custom kinds first, which may own the others.

    A custom kind has the newest version that is known and served, or else a preferred one. Owners come before the
    built-in kinds that they own, which every cluster serves.
    """
    found = []
    custom = [kind for name, kind in kinds.items() if kind.group and name not in BUILT_IN]
    groups = await objects.document("/apis") if custom else None
    versions = {word(one, "name"): _versions(one) for one in entries(groups, "groups")}
    for kind in custom:
        known = versions.get(kind.group, ())
        wanted = dict.fromkeys([*(one for one in kind.versions if one in known), *known])
        listed = await objects.served(Kind(kind.kind, kind.resource, kind.group, version) for version in wanted)
        found += [] if listed is None else [listed]
    built_in = (BUILT_IN[name] for name in reversed([*BUILT_IN]) if name in kinds and name != ("", "Pod"))
    return [*found, *(Kind(kind.kind, kind.resource, kind.group) for kind in built_in)]


def _versions(group: Object) -> list[str]:
    """The versions of an API group, the preferred one first (metav1.APIGroup)."""
    listed = (part(group, "preferredVersion"), *entries(group, "versions"))
    return [version for one in listed if (version := word(one, "version"))]
