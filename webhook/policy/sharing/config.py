"""One configuration of the device plugin, as the plugin understands it, and the first value that it refuses.

The rules are those of NVIDIA/k8s-device-plugin from v0.15.0 to v0.20.0: `api/config/v1/config.go` (`NewConfig`) for the
file, and `cmd/nvidia-device-plugin/main.go` (`validateFlags`) for its flags. Unknown fields are ignored, and only the
first document counts. The variable MPS_ROOT is set, as in NVIDIA's charts, and the nodes have the driver's library.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.policy.messages import printable
from webhook.policy.placement.node_classes import RENAMED
from webhook.policy.sharing.problems import Problem, Problems, release_of
from webhook.policy.sharing.schema import Held, read
from webhook.policy.sharing.values import as_text, full_name
from webhook.policy.verdict import Path

if TYPE_CHECKING:
    from webhook.policy.placement.cluster_objects import PluginConfig, Replicas

MOST_RESOURCES: Final = 64
"""Resources that one configuration may share. Every node that uses the configuration is indexed by each of them."""

_MIG: Final[Path] = ("flags", "migStrategy")


class RefusedError(Exception):
    """The device plugin rejects a configuration. The message says why, and `path` leads to the value."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(problem)
        self.path = path


class Refusal(NamedTuple):
    """The first value of a configuration that the plugin refuses, why, and what to write instead.

    `releases` are those that refuse it; empty if all do, or the known version does.
    """

    path: Path
    problem: str
    remedy: str
    releases: str


def refusals(value: object, version: str | None, mig_strategy: str | None = None) -> Refusal | None:
    """Return the first refusal of a document, in the order of the loader; None if the plugin starts with it.

    Where the version is unknown, a refusal by all releases goes first. `mig_strategy` is the plugin's environment
    variable MIG_STRATEGY, which overrides the file.
    """
    return _first(_problems(value, {}, mig_strategy), version)


def parse(name: str, value: object, mig_strategy: str | None = None) -> PluginConfig:
    """Return the configuration that a document means, under one key of the plugin's ConfigMap.

    Raises RefusedError if all releases refuse it, and for more resources than are kept.
    """
    from webhook.policy.placement.cluster_objects import PluginConfig  # most command lines know no plugin

    held: dict[str, Held] = {}
    refusal = _first(_problems(value, held, mig_strategy), None)
    if refusal is not None and not refusal.releases:
        raise RefusedError(refusal.path, refusal.problem)
    if (mps := _value(held, "mps")) is not None:
        return PluginConfig(name, "mps", *_shared(held["mps"].path, mps))
    if (sliced := _value(held, "timeSlicing")) is not None:
        return PluginConfig(name, "time-slicing", *_shared(held["timeSlicing"].path, sliced))
    return PluginConfig(name)


def _shared(path: Path, block: Mapping[str, Any]) -> tuple[bool | None, tuple[Replicas, ...]]:
    """The option and the resources of a block. The plugin resets `rename` and `devices` (`disableResoureRenaming`)."""
    from webhook.policy.placement.cluster_objects import Replicas

    if len(block["resources"]) > MOST_RESOURCES:
        raise RefusedError((*path, "resources"), f"more than {MOST_RESOURCES} resources")
    suffix = RENAMED if block.get("renameByDefault") else ""
    replicas: dict[str, int] = {}
    for one in block["resources"]:
        name = full_name(one["name"]) + suffix
        replicas[name] = max(int(one["replicas"]), replicas.get(name, 0))
    return block.get("failRequestsGreaterThanOne"), tuple(Replicas(*one) for one in replicas.items())


def _first(problems: Problems, version: str | None) -> Refusal | None:
    """The first problem of a version; where it is unknown, the first one of all releases, or else of some."""
    release = None if version is None else release_of(version)
    of_some: Problem | None = None
    for one in problems:
        if release is None and one.releases:
            of_some = of_some or one
        elif release is None or one.since <= release < one.until:
            return Refusal(one.path, one.problem, one.remedy, "")
    return None if of_some is None else Refusal(of_some.path, of_some.problem, of_some.remedy, of_some.releases)


def _problems(value: object, held: dict[str, Held], mig_strategy: str | None) -> Problems:
    """The problems of a document in the order of the loader. Its fields are added to those held."""
    yield from read(value, held)
    version = _value(held, "version")
    if version not in (None, "", "v1"):
        problem = f'must be v1, not "{printable(as_text(version) or "", 48)}"'
        yield Problem(held["version"].path, problem, "write version: v1")
    yield from _of_flags(held, mig_strategy)
    if _value(held, "channelIDs") not in (None, [], [0], [None]):
        path, _, since = held["channelIDs"]
        yield Problem(path, "must be [] or [0]", "write [0], or remove it", since)


def _of_flags(held: Mapping[str, Held], mig_strategy: str | None) -> Problems:
    """The problems of flags whose types are right (main.go, `validateFlags`)."""
    yield from _unless_one_of(held, "deviceListStrategy", ("envvar", "volume-mounts", "cdi-annotations", "cdi-cri"))
    yield from _unless_one_of(held, "deviceIDStrategy", ("uuid", "index"))
    yield from _unless_one_of(held, "sharedDevicesAllocationPolicy", ("distributed", "packed"))
    if mig_strategy is not None:
        held = {**held, "migStrategy": Held(_MIG, mig_strategy)}
    if _value(held, "mps") is not None and _value(held, "migStrategy") == "mixed":
        problem, remedy = "mixed is not supported with sharing.mps", "use single or none, or share by timeSlicing"
        yield Problem(held["migStrategy"].path, problem, remedy)
    yield from _unless_one_of(held, "deviceDiscoveryStrategy", ("auto", "nvml", "tegra"))
    yield from _unless_one_of(held, "migStrategy", ("none", "single", "mixed"))


def _unless_one_of(held: Mapping[str, Held], name: str, known: tuple[str, ...]) -> Problems:
    """A problem unless a flag has known values, or none."""
    value = _value(held, name)
    given = () if value is None else value if isinstance(value, list) else (value,)
    wrong = next((one for one in given if (as_text(one) or "") not in known), _NONE_WRONG)
    if wrong is not _NONE_WRONG:
        path, _, since = held[name]
        problem = f'must be {", ".join(known[:-1])} or {known[-1]}, not "{printable(as_text(wrong) or "", 24)}"'
        yield Problem(path, problem, f"write {known[0]}, or another one of these", since)


_NONE_WRONG: Final = object()


def _value(held: Mapping[str, Held], name: str) -> Any:
    found = held.get(name)
    return None if found is None else found.value
