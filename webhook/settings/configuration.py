"""The settings file as a whole: the policy's settings, and those of the server's process."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from webhook.policy.settings import setting
from webhook.policy.settings.settings import Settings
from webhook.settings.members import write
from webhook.settings.options import Profile
from webhook.settings.process import Log, ServerSettings, Tls

API_VERSION = "gpushare-webhook/v1"
KIND = "Settings"


@dataclass(frozen=True, slots=True)
class Configuration:
    """All settings in effect: the file's over its profile's over the defaults.

    The policy's settings stand at the top level of the file, not under a key of their own.
    """

    profile: Profile = setting("device-plugin", "Sets values together, below the keys of the file.")
    settings: Settings = setting(Settings(), key="*")
    server: ServerSettings = setting(ServerSettings())
    tls: Tls = setting(Tls())
    log: Log = setting(Log())


def default() -> Configuration:
    """The configuration without a file."""
    return Configuration()


def view(configuration: Configuration) -> dict[str, Any]:
    """The effective settings, spelled out as a settings file; loading it gives the same configuration."""
    written = write(configuration)
    return {"apiVersion": API_VERSION, "kind": KIND, "profile": configuration.profile, **written.pop("*"), **written}


_FIXED = ("server", "tls", "log", "facts")
"""The sections that a running server cannot change."""


def fixed(before: Configuration, after: Configuration) -> list[str]:
    """The keys, dotted, that differ and take effect only after a restart."""
    old, new = view(before), view(after)
    return [f"{part}.{key}" for part in _FIXED for key in old[part] if old[part][key] != new[part][key]]


def changeable(before: Configuration, after: Configuration) -> Settings:
    """The policy's settings of a server that started with `before` and reads `after`."""
    return replace(after.settings, facts=before.settings.facts)
