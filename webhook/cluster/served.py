"""The kinds with pods that a cluster serves, in the version and under the plural that its API server names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from webhook.cluster.objects import CONTROLLER, CRON_JOB, DAEMON_SET, DEPLOYMENT, JOB, REPLICA_SET, STATEFUL_SET, Object
from webhook.cluster.objects import Kind as Listed
from webhook.cluster.reading import entries, part, word
from webhook.policy.workloads.kinds import Kinds
from webhook.policy.workloads.presets import PRESETS

POD_TEMPLATE = Listed("podtemplate", "podtemplates")

BUILT_IN: Mapping[tuple[str, str], Listed] = {
    ("batch", "CronJob"): CRON_JOB,
    ("apps", "Deployment"): DEPLOYMENT,
    ("apps", "DaemonSet"): DAEMON_SET,
    ("apps", "StatefulSet"): STATEFUL_SET,
    ("batch", "Job"): JOB,
    ("apps", "ReplicaSet"): REPLICA_SET,
    ("", "ReplicationController"): CONTROLLER,
    ("", "PodTemplate"): POD_TEMPLATE,
}
"""The kinds that every cluster serves, owners before the kinds that they own."""


class Served(NamedTuple):
    """A kind with pods, as the API server lists it."""

    group: str
    kind: str
    listed: Listed

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.listed.version}" if self.group else self.listed.version


def of_presets() -> list[Listed]:
    """The kinds of all presets, for the rights that a command needs: a cluster serves few of them."""
    kinds = (kind for preset in PRESETS for kind in preset.kinds)
    return [
        Listed(kind.kind.lower(), kind.resource, kind.group, kind.versions[0], kind.namespaced)
        for kind in kinds
        if (kind.group, kind.kind) not in BUILT_IN
    ]


class Documents(Protocol):
    """What an API server says about itself."""

    async def document(self, path: str) -> Object | None:
        """Return the document; None if it does not exist or cannot be read."""


async def served(api: Documents, kinds: Kinds) -> list[Served]:
    """Return the kinds that the cluster serves, but for Pod: custom kinds first, which may own the others.

    A custom kind has the newest version that is known and served, or else a preferred one.
    """
    found = []
    custom = [kind for (group, name), kind in kinds.items() if group and (group, name) not in BUILT_IN]
    groups = await api.document("/apis") if custom else None
    versions = {word(one, "name"): _versions(one) for one in entries(groups, "groups")}
    for kind in custom:
        known = versions.get(kind.group, ())
        for version in dict.fromkeys([*(one for one in kind.versions if one in known), *known]):
            resources = await api.document(Listed("", "", kind.group, version).root)
            if listed := [one for one in entries(resources, "resources") if _is_listed(one, kind.kind)]:
                plural, namespaced = word(listed[0], "name"), bool(listed[0].get("namespaced", True))
                listed_as = Listed(kind.kind.lower(), plural, kind.group, version, namespaced)
                found.append(Served(kind.group, kind.kind, listed_as))
                break
    built_in = [Served(group, kind, listed) for (group, kind), listed in BUILT_IN.items()]
    return [*found, *(one for one in built_in if (one.group, one.kind) in kinds)]


def _versions(group: Object) -> list[str]:
    """The versions of an API group, the preferred one first (metav1.APIGroup)."""
    listed = (part(group, "preferredVersion"), *entries(group, "versions"))
    return [version for one in listed if (version := word(one, "version"))]


def _is_listed(resource: Object, kind: str) -> bool:
    """Whether a resource is that of a kind, and no subresource (metav1.APIResource)."""
    is_own = resource.get("kind") == kind and "/" not in word(resource, "name")
    return is_own and "list" in (resource.get("verbs") or ("list",))
