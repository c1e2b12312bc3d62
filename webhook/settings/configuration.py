"""The settings file as a whole: what decides about a pod, and what the server's process needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from webhook.policy.settings.field import setting
from webhook.policy.settings.settings import Settings
from webhook.settings.process import Log, Server, Tls
from webhook.settings.shape import Section, section, write

API_VERSION = "gpushare-webhook/v1"
KIND = "Settings"

Profile = Literal["device-plugin", "host-daemon", "gke", "openshift", "none"]


@dataclass(frozen=True, slots=True)
class Configuration:
    """Everything that a settings file says, defaults and profile included."""

    settings: Settings = setting(Settings(), "")
    server: Server = setting(Server(), "")
    tls: Tls = setting(Tls(), "")
    log: Log = setting(Log(), "")
    profile: Profile = setting("device-plugin", "Values that are set together, below the file's own keys.")


def _assemble(*, server: Server, tls: Tls, log: Log, profile: Profile, **policy: Any) -> Configuration:
    return Configuration(Settings(**policy), server, tls, log, profile)


def _document() -> Section:
    """The file has the policy's keys at its top level."""
    own = {member.name: member for member in section(Configuration).members}
    members = (own["profile"], *section(Settings).members, own["server"], own["tls"], own["log"])
    return Section("Settings", section(Configuration).says, members, _assemble)


DOCUMENT = _document()
"""The shape of the settings file, without `apiVersion` and `kind`."""


def default() -> Configuration:
    """The configuration without a file."""
    return Configuration()


def view(configuration: Configuration) -> dict[str, Any]:
    """The effective settings as a settings file would spell them out; loading it gives the same configuration."""
    written = write(section(Configuration), configuration)
    flat = {**written, **written["settings"]}
    return {"apiVersion": API_VERSION, "kind": KIND, **{member.key: flat[member.key] for member in DOCUMENT.members}}


def not_in_force(configuration: Configuration) -> list[str]:
    """The keys, dotted, whose values differ from the default and have no effect in this release."""
    return list(_without_effect(DOCUMENT, view(configuration), view(default()), ""))


_FIXED = ("server", "tls", "log", "facts")
"""The sections that hold for the life of a process; the last says what is watched beside it."""


def fixed(before: Configuration, after: Configuration) -> list[str]:
    """The keys, dotted, that differ and that a running server cannot change."""
    old, new = view(before), view(after)
    return [f"{part}.{key}" for part in _FIXED for key in old[part] if old[part][key] != new[part][key]]


def changeable(before: Configuration, after: Configuration) -> Settings:
    """What decides about a pod after a running server was given another configuration."""
    return replace(after.settings, facts=before.settings.facts)


def _without_effect(shape: Section, told: Mapping[str, Any], usual: Mapping[str, Any], above: str) -> Iterator[str]:
    for member in shape.members:
        key = above + member.key
        if isinstance(member.shape, Section):
            yield from _without_effect(member.shape, told[member.key], usual[member.key], f"{key}.")
        elif member.later and told[member.key] != usual[member.key]:
            yield key
