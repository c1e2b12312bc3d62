"""An object names a configuration of the device plugin that does not exist, or a chart does not read a key of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from webhook.policy.messages import printable
from webhook.policy.placement.node_classes import CAPABLE, CONFIG_LABEL
from webhook.policy.sharing.objects import (
    DISCOVERY,
    PLUGIN_CHART,
    TEXTS,
    ConfigNames,
    ConfigSection,
    DefaultRule,
    sections,
)
from webhook.policy.verdict import Path, Violation, Violations, message
from webhook.policy.workloads.paths import at

_MPS: Final = re.compile(r"^ +mps:", re.ASCII | re.MULTILINE)
"""The key of MPS in a configuration: the texts of values are no objects here."""

_LABEL: Final = ("metadata", "labels", CONFIG_LABEL)
_SHOWN: Final = 4
_LONGEST: Final = 40


def run(context: ConfigNames) -> Violations:
    """The names of configurations that do not exist, as far as it is known which do, and the keys without effect."""
    found = list(sections(context.value, context.group, context.kind))
    named: list[tuple[Path, object, Collection[str] | None]] = []
    for section in found:
        path, value = (*section.path, "default"), section.value
        if value.get("default") and not value.get("name") and not any(value.get(key) for key in TEXTS):
            said = "the chart gives the device plugin no configuration without name, and default has no effect"
            yield Violation(path, said, "set name to the ConfigMap, and default to one of its keys")
        else:
            named.append((path, value.get("default"), context.known if section.names is None else section.names))
    if context.kind == "Node":
        named.append((_LABEL, at(context.value, _LABEL), context.known))
    for path, name, names in named:
        if isinstance(name, str) and name and names is not None and name not in names:
            problem = message("no configuration has the name {}, and the device plugin does not start with it", name)
            yield Violation(path, problem, f"use {_one_of(sorted(names))}" if names else "add one with this name")
    for section in found:
        yield from _unread(section)
        if section.shape.texts == "data" and section.value.get("data") and section.value.get("create") is not True:
            said = "the chart makes no ConfigMap of these configurations without create: true"
            yield Violation((*section.path, "data"), said, "set create: true beside it")
        if section.shape.chart == PLUGIN_CHART:
            yield from _undiscovered(context.value, section)
        if "fallbackStrategies" in section.shape.keys:
            yield from _without_label(section, context.known)


def _unread(section: ConfigSection) -> Violations:
    """The keys of a section that nothing reads."""
    for key, held in section.value.items():
        if key in section.shape.keys:
            continue
        remedy = f"write {section.shape.texts}" if key in TEXTS and section.shape.texts else "remove it"
        if not section.shape.texts and isinstance(held, str) and "\n" in held:
            remedy = "put this text into a ConfigMap, and set name to the ConfigMap and default to the key"
        yield Violation((*section.path, key), message("nothing reads the key {} here", key), remedy)


def _undiscovered(values: Mapping[str, Any], section: ConfigSection) -> Violations:
    """The first configuration with MPS where the chart does not deploy what labels nodes for the MPS control daemon."""
    enabled = at(values, (*section.path[:-1], DISCOVERY, "enabled"))
    if enabled not in (None, False):
        return
    texts = section.value.get(section.shape.texts)
    for name, text in texts.items() if isinstance(texts, dict) else ():
        if isinstance(text, str) and _MPS.search(text) is not None:
            problem = message("MPS starts on nodes with the label {} alone, which GPU feature discovery sets", CAPABLE)
            path = (*section.path, section.shape.texts, name)
            yield Violation(path, problem, "set gfd.enabled: true in these values")
            return


def _without_label(section: ConfigSection, known: Collection[str] | None) -> Violations:
    """The section, if it chooses nothing for nodes without a label."""
    fallbacks = section.value.get("fallbackStrategies", DefaultRule().fallbacks) or ()
    if not isinstance(fallbacks, list | tuple):
        return
    names = section.names or (known if section.value.get("name") else ())
    is_chosen = section.value.get("default") or DefaultRule("", tuple(fallbacks)).choose(names or ()) is not None
    if names and not is_chosen:
        problem = "neither default nor fallbackStrategies choose a configuration for nodes without a label"
        yield Violation(section.path, problem, f"set default to {_one_of(sorted(names))}")


def _one_of(names: Sequence[str]) -> str:
    """The first names, in quotes."""
    shown = ", ".join(f'"{printable(name, _LONGEST)}"' for name in names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{'one of ' if len(names) > 1 else ''}{shown}{more}"
