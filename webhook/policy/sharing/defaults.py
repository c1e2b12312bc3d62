"""How the device plugin's config-manager chooses the configuration of a node without a label.

The rules are those of `updateConfigName` in NVIDIA/k8s-device-plugin cmd/config-manager/main.go.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

NO_CONFIG: Final = ""
"""Stands for the empty configuration: the node shares nothing."""

STRATEGIES: Final = ("named", "single", "empty")
"""The fallback strategies of the config-manager, which ends with an error where it reaches another one."""


@dataclass(frozen=True, slots=True)
class DefaultRule:
    """The default of a chart, and the fallback strategies that apply without one; at first those of the chart."""

    name: str = ""
    fallbacks: tuple[str, ...] = ("named", "single")

    def choose(self, names: Collection[str]) -> str | None:
        """The name of the configuration, or NO_CONFIG. None: the config-manager fails."""
        if not names:
            return None
        if self.name:
            return self.name if self.name in names else None
        for fallback in self.fallbacks:
            match fallback:
                case "named" if "default" in names:
                    return "default"
                case "single" if len(names) == 1:
                    return next(iter(names))
                case "empty":
                    return NO_CONFIG
                case "named" | "single":
                    continue
                case _:
                    return None
        return None
