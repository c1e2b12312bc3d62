"""The device plugin starts with a configuration, and a part of it does nothing, or not what it says."""

from __future__ import annotations

from typing import Any

from webhook.policy.placement.node_classes import DOMAIN, MOST_CLIENTS, RENAMED
from webhook.policy.pods.gpu_resources import CARD, MIG
from webhook.policy.sharing.config import RefusedError, full_name, ignored, loaded, nearest_known
from webhook.policy.sharing.objects import SharingConfig
from webhook.policy.verdict import Path, Severity, Violation, Violations, message


def run(context: SharingConfig) -> Violations:
    """The parts without effect. A configuration that the plugin refuses has none."""
    nearest = nearest_known(context.version)
    for each in _without_effect(context):
        remedy = f"if {context.version}, which is not known to this program, is like {nearest}: {each.remedy}"
        yield each._replace(remedy=remedy, cap=Severity.WARN) if nearest else each


def _without_effect(context: SharingConfig) -> Violations:
    try:
        fields = loaded(context.value)
    except RefusedError:
        return
    yield from ignored(context.value)
    sliced, mps = fields["timeSlicing"], fields["mps"]
    if mps.value and sliced.value:
        problem = "MPS takes precedence, and the device plugin ignores this block"
        yield Violation(sliced.path, problem, "remove timeSlicing or mps")
    elif sliced.value:
        is_unnamed = fields["migStrategy"].value in ("none", "single")
        yield from _of_block(*sliced, "MIG devices have no names of their own" if is_unnamed else "")
    if mps.value:
        yield from _of_block(*mps, "MPS does not share MIG devices")
        yield from _of_mps(*mps, context)


def _of_block(path: Path, block: dict[str, Any], why_no_mig: str) -> Violations:
    """The violations of resources that a block names. `why_no_mig`: why it shares no MIG device; empty if it may."""
    renames = block.get("renameByDefault") is True
    for index, resource in enumerate(block.get("resources") or ()):
        here, name = (*path, "resources", index), full_name(resource["name"])
        if name.startswith(MIG) and why_no_mig:
            yield Violation((*here, "name"), f"this entry shares nothing: {why_no_mig}", f"name {CARD}, or remove it")
        elif name != CARD and not name.startswith(MIG):
            unknown = message("no card has the name {}, and this entry shares nothing", name)
            yield Violation((*here, "name"), unknown, f"name {CARD}")
        # The plugin resets the next fields (api/config/v1/replicas.go, `disableResoureRenaming`).
        rename, default = resource.get("rename"), name + RENAMED if renames else ""
        if rename is not None and rename not in (default, default.removeprefix(DOMAIN)):
            remedy = "remove it" if renames else f"remove it, or set renameByDefault: true, which adds {RENAMED}"
            yield Violation((*here, "rename"), "the device plugin ignores this name", remedy)
        if resource.get("devices", "all") != "all":
            problem = "the device plugin ignores the selection of devices, and shares all cards of the node"
            remedy = "remove it, or use another configuration for nodes with other cards"
            yield Violation((*here, "devices"), problem, remedy)


def _of_mps(path: Path, block: dict[str, Any], context: SharingConfig) -> Violations:
    from webhook.policy.placement.cluster_objects import DevicePlugin  # most inputs share nothing through MPS

    fails = "failRequestsGreaterThanOne"
    if block.get(fails) is False and not DevicePlugin(version=context.version).honours_option_for_mps:
        problem = "before v0.20 the device plugin ignores this, and rejects requests for more than one replica"
        yield Violation((*path, fails), problem, "remove it, or run v0.20 or newer (facts.devicePlugin.version)")
    for index, resource in enumerate(block.get("resources") or ()):
        most = context.clients
        if resource["replicas"] > most:
            cards = "a card, 16 before Turing" if most == MOST_CLIENTS else "the known cards"
            problem = f"MPS serves at most {most} clients of {cards}: the MPS daemon does not start"
            yield Violation((*path, "resources", index, "replicas"), problem, f"set at most {most}")
