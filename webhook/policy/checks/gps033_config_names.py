"""An object names a configuration of the device plugin that does not exist, or a chart does not read a key of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from webhook.policy.checks.check import Check, Scope
from webhook.policy.messages import message, printable
from webhook.policy.sharing.names import ConfigNames, Section, named_configs, sections
from webhook.policy.verdict import Severity, Violation

_SHOWN: Final = 4
_LONGEST: Final = 40


def run(context: ConfigNames) -> Iterator[Violation]:
    """The names of configurations that do not exist, as far as it is known which do, and the keys without effect."""
    for path, name, own in named_configs(context.value, context.group, context.kind):
        names = context.known if own is None else own
        if names is not None and name not in names:
            problem = message("no configuration has the name {}, and the device plugin does not start with it", name)
            yield Violation(path, problem, _remedy(names))
    for section in sections(context.value, context.group, context.kind):
        yield from _without_effect(section)


def _without_effect(section: Section) -> Iterator[Violation]:
    for key in section.held:
        if key not in section.keys:
            remedy = f"write {section.texts}" if key in ("map", "data") and section.texts else "remove it"
            yield Violation((*section.path, key), message("nothing reads the key {} here", key), remedy)
    if section.texts == "data" and section.held.get("data") and section.held.get("create") is not True:
        problem = message("the chart makes no ConfigMap of these configurations without create: true")
        yield Violation((*section.path, "data"), problem, "set create: true beside it")


def _remedy(names: Collection[str]) -> str:
    """The remedy that lists the first names."""
    if not names:
        return "add one with this name"
    shown = [printable(name, _LONGEST) for name in sorted(names)[:_SHOWN]]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"use {'one of ' if len(names) > 1 else ''}{', '.join(shown)}{more}"


CHECK = Check(
    "GPS033",
    Severity.WARN,
    Scope.CONFIG_NAMES,
    run,
    "A name or a key of a configuration of the device plugin leads nowhere",
)
