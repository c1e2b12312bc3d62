"""The settings file as a whole: the policy's settings, and those of the server's process."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal, TypeAlias

from webhook.policy.settings import Section, setting
from webhook.policy.settings.formats import Bytes, Count, Delay, Host, Range, Seconds, Size, SomeText
from webhook.policy.settings.settings import Settings
from webhook.settings.members import write
from webhook.settings.options import Profile

API_VERSION = "gpushare-webhook/v1"
KIND = "Settings"

Port: TypeAlias = Annotated[int, Range(0, 65535)]

_DAY = 86_400.0


class ServerSettings(Section):
    """The listeners and their limits.

    Durations are held in seconds, sizes in bytes.
    """

    host: Host = setting("0.0.0.0", "The address to listen on.")  # noqa: S104 - the Service reaches pods by their address
    port: Port = setting(10250, "HTTPS port of the hooks. 0: any free port.")
    health_port: Port = setting(8080, "HTTP port of health and metrics. 0: any free port.")
    body_limit: Bytes = setting(
        28 * 2**20,
        "The largest review that the server reads. Every legal object fits. A small memory limit of the container "
        "lowers it.",
        written=Size.write,
    )
    body_timeout: Seconds = setting(5.0, "Time within which the body of a request must arrive.")
    header_timeout: Seconds = setting(10.0, "Time within which the headers of a request must arrive.")
    max_in_flight: Count = setting(256, "Reviews that the server handles at once; it answers further ones with 503.")
    max_connections: Count = setting(2048, "Connections that may be open at once.")
    keep_alive: Seconds = setting(
        110.0,
        "Time that an idle connection stays open. More than the API server's 90 s, so that the client closes first.",
    )
    shutdown_delay: Delay = setting(10.0, "Time that the server keeps serving after SIGTERM, while endpoints go.")
    drain_timeout: Delay = setting(10.0, "Time for open requests to finish after that.")


class Tls(Section):
    """The server's certificate, and the clients that may connect."""

    mode: Literal["files", "self-managed"] = setting(
        "files",
        "`files`: files, such as those of cert-manager or of an existing Secret. "
        "`self-managed`: the webhook is its own certificate authority.",
    )
    min_version: Literal["1.3", "1.2"] = setting("1.3", "The oldest TLS version that the server accepts.")
    cert_file: SomeText | None = setting(None, "File with the certificate and its chain, PEM.")
    key_file: SomeText | None = setting(None, "File with the private key, PEM.")
    client_ca: SomeText | None = setting(
        None, "File with the authorities of client certificates, PEM. null: the server requests none.", key="clientCA"
    )
    client_subjects: tuple[SomeText, ...] = setting(
        (), "Common names of client certificates that may connect. Empty: any that `clientCA` signed."
    )
    ca_lifetime: Seconds = setting(365 * _DAY, "Self-managed: lifetime of the authority, renewed after two thirds.")
    leaf_lifetime: Seconds = setting(
        7 * _DAY,
        "Self-managed: lifetime of a leaf, renewed after two thirds. At most half of `caLifetime`.",
    )
    settle: Seconds = setting(
        60.0,
        "Self-managed: time that a new authority is in every `caBundle` before it signs. Longer than an API server may "
        "take to notice.",
    )
    extra_hosts: tuple[Host, ...] = setting(
        (), "Self-managed: names and addresses in the leaf besides those of the Service, for hooks called by URL."
    )


class Log(Section):
    """The server's log."""

    format: Literal["json", "text"] = setting("json", "One JSON object per line, or text for people.")
    level: Literal["debug", "info", "warning", "error"] = setting("info", "The lowest level that is logged.")


class Configuration(Section):
    """All settings in effect: the file's over its profile's over the defaults.

    The policy's settings stand at the top level of the file, not under a key of their own.
    """

    profile: Profile = setting("device-plugin", "Sets values together, below the keys of the file.")
    settings: Settings = setting(Settings(), "", key="*")
    server: ServerSettings = ServerSettings()
    tls: Tls = Tls()
    log: Log = Log()


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
