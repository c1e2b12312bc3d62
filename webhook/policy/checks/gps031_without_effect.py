"""The device plugin starts with a configuration, and a part of it does nothing, or not what it says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from webhook.policy.checks.check import Check, Scope
from webhook.policy.messages import message
from webhook.policy.placement.node_classes import RENAMED
from webhook.policy.pods.gpu_resources import CARD, MIG
from webhook.policy.sharing.config import refusals
from webhook.policy.sharing.context import SharingConfig
from webhook.policy.sharing.fields import ignored, member
from webhook.policy.sharing.values import PREFIX, full_name
from webhook.policy.verdict import Path, Severity, Violation

MOST_CLIENTS: Final = 48
"""Clients of one card through MPS, 16 before compute capability 7.5 (cmd/mps-control-daemon/mps/device.go)."""

MPS_ROOT: Final = "/run/nvidia/mps"
"""The default of the plugin and of the charts."""


def run(context: SharingConfig) -> Iterator[Violation]:
    """The parts without effect. A configuration that no release accepts has none."""
    refusal = refusals(context.value, context.version)
    if refusal is not None and not refusal.releases:
        return
    for field in ignored(context.value, context.version):
        yield Violation(
            field.path, message("the device plugin has no field {} here, and ignores it", field.name), field.remedy
        )
    yield from _patterns(context.value)
    flags, sharing = _at(context.value, (), "flags"), _at(context.value, (), "sharing")
    yield from _mps_root(*flags)
    sliced, mps = _at(sharing[1], sharing[0], "timeSlicing"), _at(sharing[1], sharing[0], "mps")
    if mps[1] and sliced[1]:
        problem = message("MPS takes precedence, and the device plugin ignores this block")
        yield Violation(sliced[0], problem, "remove timeSlicing or mps")
        sliced = (), None
    mig = _at(flags[1], flags[0], "migStrategy")[1]
    yield from _of_block(*sliced, "MIG devices have no names of their own" if mig in ("none", "single") else "")
    yield from _of_block(*mps, "MPS does not share MIG devices")
    yield from _of_mps(*mps, context.version)


def _at(held: object, path: Path, name: str) -> tuple[Path, Any]:
    """The path and the value of a field; None where it is absent."""
    key, value = member(held, name) or (name, None)
    return (*path, key), value


def _of(block: object, path: Path, name: str) -> tuple[Path, Any]:
    """The path and the value of a member of a block, whose names match exactly; None where it is absent."""
    return (*path, name), block.get(name) if isinstance(block, dict) else None


def _patterns(value: object) -> Iterator[Violation]:
    """A violation for patterns that name resources (api/config/v1/config.go, `DisableResourceNamingInConfig`)."""
    path, held = _at(value, (), "resources")
    if any(_at(held, path, name)[1] for name in ("gpus", "mig")):
        problem = message("the device plugin does not support patterns of resources yet, and ignores them")
        yield Violation(path, problem, "remove them")


def _mps_root(path: Path, flags: object) -> Iterator[Violation]:
    """A violation for a root of MPS in the file, which the variable MPS_ROOT of the charts overrides."""
    where, root = _at(flags, path, "mpsRoot")
    if root is not None and root != MPS_ROOT:
        problem = message("the variable MPS_ROOT, which NVIDIA's charts set, overrides this root")
        yield Violation(where, problem, "set mps.root in the values of the chart instead")


def _of_block(path: Path, block: object, why_no_mig: str) -> Iterator[Violation]:
    """The violations of resources that a block names. `why_no_mig`: why it shares no MIG device; empty if it may."""
    where, resources = _of(block, path, "resources")
    renames = _of(block, path, "renameByDefault")[1] is True
    names = set()
    for index, one in enumerate(resources or ()):
        here = (*where, index)
        name = full_name(one["name"])
        if name in names:
            problem = message("{} is given more than once; the device plugin advertises the largest number", name)
            yield Violation((*here, "name"), problem, "remove one of them")
        names.add(name)
        if name.startswith(MIG) and why_no_mig:
            yield Violation(
                (*here, "name"), message(f"this entry shares nothing: {why_no_mig}"), f"name {CARD}, or remove it"
            )
        elif name != CARD and not name.startswith(MIG):
            yield Violation(
                (*here, "name"), message("no card has the name {}, and this entry shares nothing", name), f"name {CARD}"
            )
        yield from _ignored_in(one, here, name + RENAMED if renames else None)


def _ignored_in(one: dict[str, Any], path: Path, renamed: str | None) -> Iterator[Violation]:
    """The violations of fields that the plugin resets (api/config/v1/replicas.go, `disableResoureRenaming`)."""
    rename = one.get("rename")
    if rename is not None and rename not in (renamed, "" if renamed is None else renamed.removeprefix(PREFIX)):
        remedy = f"remove it, or set renameByDefault: true, which adds {RENAMED}" if renamed is None else "remove it"
        yield Violation((*path, "rename"), message("the device plugin ignores this name"), remedy)
    if one.get("devices", "all") != "all":
        problem = message("the device plugin ignores the selection of devices, and shares all cards of the node")
        yield Violation(
            (*path, "devices"), problem, "remove it, or use another configuration for nodes with other cards"
        )


def _of_mps(path: Path, block: object, version: str | None) -> Iterator[Violation]:
    from webhook.policy.placement.cluster_objects import DevicePlugin  # most inputs share nothing through MPS

    where, fails = _of(block, path, "failRequestsGreaterThanOne")
    if fails is False and not DevicePlugin(version=version).honours_option_for_mps:
        problem = message("before v0.20 the device plugin ignores this, and rejects requests for more than one replica")
        yield Violation(where, problem, "remove it, or run v0.20 or newer (facts.devicePlugin.version)")
    where, resources = _of(block, path, "resources")
    for index, one in enumerate(resources or ()):
        if one["replicas"] > MOST_CLIENTS:
            problem = message(
                f"MPS serves at most {MOST_CLIENTS} clients of a card, 16 before Turing: the MPS daemon does not start"
            )
            yield Violation((*where, index, "replicas"), problem, f"set at most {MOST_CLIENTS}")


CHECK = Check(
    "GPS031",
    Severity.WARN,
    Scope.SHARING_CONFIG,
    run,
    "A part of the device plugin's configuration has no effect, or not the effect that it names",
)
