"""The settings file as a whole: the policy's settings, and those of the server's process."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from webhook.policy.settings import setting
from webhook.policy.settings.settings import Settings
from webhook.settings.options import Profile
from webhook.settings.process import Events, Log, ServerSettings, Tls
from webhook.settings.schema_tree import Object, object_of, write

API_VERSION = "gpushare-webhook/v1"
KIND = "Settings"


@dataclass(frozen=True, slots=True)
class Configuration:
    """All settings in effect: the file's over its profile's over the defaults."""

    settings: Settings = setting(Settings())
    server: ServerSettings = setting(ServerSettings())
    tls: Tls = setting(Tls())
    log: Log = setting(Log())
    events: Events = setting(Events())
    profile: Profile = setting("device-plugin", "Sets values together, below the keys of the file.")


def _configuration(
    *, server: ServerSettings, tls: Tls, log: Log, events: Events, profile: Profile, **policy: Any
) -> Configuration:
    return Configuration(Settings(**policy), server, tls, log, events, profile)


def _settings_file() -> Object:
    """The policy's settings stand at the top level of the file, not under a key of their own."""
    whole = object_of(Configuration)
    own = {field.key: field for field in whole.fields}
    flat = (own["profile"], *object_of(Settings).fields, own["server"], own["tls"], own["log"], own["events"])
    return Object("Settings", whole.description, flat, _configuration)


SETTINGS_FILE = _settings_file()
"""The schema tree of the settings file, without `apiVersion` and `kind`."""


def default() -> Configuration:
    """The configuration without a file."""
    return Configuration()


def view(configuration: Configuration) -> dict[str, Any]:
    """The effective settings, spelled out as a settings file; loading it gives the same configuration."""
    written = write(object_of(Configuration), configuration)
    flat = {**written, **written["settings"]}
    return {"apiVersion": API_VERSION, "kind": KIND, **{key: flat[key] for key in SETTINGS_FILE.keys}}


_FIXED = ("server", "tls", "log", "events", "facts", "policies")
"""The sections that a running server cannot change."""


def fixed(before: Configuration, after: Configuration) -> list[str]:
    """The keys, dotted, that differ and take effect only after a restart."""
    old, new = view(before), view(after)
    return [f"{part}.{key}" for part in _FIXED for key in old[part] if old[part][key] != new[part][key]]


def changeable(before: Configuration, after: Configuration) -> Settings:
    """The policy's settings of a server that started with `before` and reads `after`."""
    return replace(after.settings, facts=before.settings.facts, policies=before.settings.policies)
