"""The kinds with pods that a cluster serves, in the version and under the plural that its API server names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from webhook.cluster.objects import CONTROLLER, CRON_JOB, DAEMON_SET, DEPLOYMENT, JOB, REPLICA_SET, STATEFUL_SET, Object
from webhook.cluster.objects import Kind as Listed
from webhook.policy.workloads.kinds import Kind, Kinds
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
    """Return the kinds that the cluster serves, but for Pod: custom kinds first, which may own the others."""
    wanted: dict[str, list[Kind]] = {}
    for (group, name), kind in kinds.items():
        if group and (group, name) not in BUILT_IN:
            wanted.setdefault(group, []).append(kind)
    versions = _versions(await api.document("/apis")) if wanted else {}
    found = []
    for group, custom in wanted.items():
        if group in versions:
            found += await _custom(api, custom, versions[group])
    built_in = [Served(group, kind, listed) for (group, kind), listed in BUILT_IN.items()]
    return [*found, *(one for one in built_in if (one.group, one.kind) in kinds)]


def _versions(groups: Object | None) -> dict[str, list[str]]:
    """The versions of each API group, the preferred one first (metav1.APIGroupList)."""
    found = {}
    for one in (groups or {}).get("groups") or ():
        preferred = (one.get("preferredVersion") or {}).get("version")
        others = [each["version"] for each in one.get("versions") or () if each.get("version") != preferred]
        found[one.get("name", "")] = [*([preferred] if preferred else []), *others]
    return found


async def _custom(api: Documents, kinds: list[Kind], versions: list[str]) -> list[Served]:
    """The kinds of one group, each in the newest version that is known and served, or else in a preferred one."""
    group = kinds[0].group
    resources: dict[str, dict[str, Object]] = {}
    for version in versions:
        listed = await api.document(Listed("", "", group, version).root) or {}
        resources[version] = {
            one["kind"]: one
            for one in listed.get("resources") or ()
            if "/" not in one["name"] and "list" in (one.get("verbs") or ("list",))
        }
    found = []
    for kind in kinds:
        order = dict.fromkeys([*(one for one in kind.versions if one in resources), *versions])
        for version in (one for one in order if kind.kind in resources[one]):
            resource = resources[version][kind.kind]
            name, plural = kind.kind.lower(), resource["name"]
            listed_as = Listed(name, plural, group, version, bool(resource.get("namespaced", True)))
            found.append(Served(group, kind.kind, listed_as))
            break
    return found
