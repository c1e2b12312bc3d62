"""The checks that a run makes, where options select or ignore some."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from webhook.policy.settings.settings import Settings

if TYPE_CHECKING:
    from webhook.policy.settings.names import SeverityName


class Selection(NamedTuple):
    """The codes of the checks that options leave out, and of those that remain.

    `options` names the options; it is empty where all checks remain.
    """

    left_out: tuple[str, ...] = ()
    remaining: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    def includes(self, code: str) -> bool:
        return code not in self.left_out

    def apply(self, settings: Settings) -> Settings:
        """Return the settings with the checks that are left out switched off in every namespace."""
        off: Mapping[str, SeverityName] = dict.fromkeys(self.left_out, "off")
        rules = tuple(replace(rule, severities={**rule.severities, **off}) for rule in settings.namespaces)
        return replace(settings, severities={**settings.severities, **off}, namespaces=rules)

    def __str__(self) -> str:
        if "--select" in self.options:
            return f"only {', '.join(self.remaining)} checked ({', '.join(self.options)})"
        return f"{', '.join(self.left_out)} not checked ({', '.join(self.options)})" if self.options else ""


EVERYTHING = Selection()
"""All checks."""
