"""What the server's process needs, beside what decides about a pod: addresses, limits, certificates, log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from webhook.policy.settings.field import setting
from webhook.settings.forms import Whole
from webhook.settings.names import HOST, SOME
from webhook.settings.units import Bytes, Delay, Seconds

_PORT = Whole(0, 65535)
_COUNT = Whole(1)
_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Server:
    """The listeners and their limits.

    Durations are held in seconds, sizes in bytes.
    """

    host: Annotated[str, HOST] = setting("0.0.0.0", "The address to listen on.")  # noqa: S104 - pods are reached so
    port: Annotated[int, _PORT] = setting(10250, "The HTTPS port of the hooks. 0: any free port.")
    health_port: Annotated[int, _PORT] = setting(8080, "The HTTP port of health and metrics. 0: any free port.")
    body_limit: Bytes = setting(
        28 * 2**20,
        "The largest review that is read. A legal object fits: an update with 3 MiB of `<`, which the API server sends "
        "as six bytes each, over a stored 1.5 MiB. A small memory limit of the container lowers it.",
    )
    body_timeout: Seconds = setting(5.0, "How long a body may take to arrive.")
    header_timeout: Seconds = setting(10.0, "How long a request's headers may take to arrive.")
    max_in_flight: Annotated[int, _COUNT] = setting(256, "Reviews that are worked on at once; more get a 503.")
    max_connections: Annotated[int, _COUNT] = setting(2048, "Connections that are open at once.")
    keep_alive: Seconds = setting(
        110.0, "How long an idle connection stays open. More than the API server's 90 s, so that it closes first."
    )
    shutdown_delay: Delay = setting(10.0, "How long the server goes on after SIGTERM, until the endpoints are gone.")
    drain_timeout: Delay = setting(10.0, "How long open requests may take at the end.")


@dataclass(frozen=True, slots=True)
class Tls:
    """The server's certificate, and who may connect."""

    mode: Literal["files", "self-managed"] = setting(
        "files",
        "`files`: certificate and key from files, whoever writes them (cert-manager, an existing Secret). "
        "`self-managed`: the webhook is its own authority.",
    )
    min_version: Literal["1.3", "1.2"] = setting("1.3", "The oldest TLS version that is spoken.")
    cert_file: Annotated[str, SOME] | None = setting(None, "The certificate with its chain, PEM.")
    key_file: Annotated[str, SOME] | None = setting(None, "The private key, PEM.")
    client_ca: Annotated[str, SOME] | None = setting(
        None, "Authorities of client certificates, PEM. null: none are asked for."
    )
    client_subjects: tuple[Annotated[str, SOME], ...] = setting(
        (), "Common names of the client certificates that may connect. Empty: all that `clientCA` signed."
    )
    ca_lifetime: Seconds = setting(365 * _DAY, "Self-managed: how long the authority lives. Renewed after two thirds.")
    leaf_lifetime: Seconds = setting(
        7 * _DAY,
        "Self-managed: how long a leaf lives, at most half as long as the authority. Renewed after two thirds.",
    )
    settle: Seconds = setting(
        60.0,
        "Self-managed: how long a new authority is in every `caBundle` before it signs. More than an API server may be "
        "behind.",
    )
    extra_hosts: tuple[Annotated[str, HOST], ...] = setting(
        (), "Self-managed: names and addresses of the leaf beside those of the Service, for hooks called by URL."
    )


@dataclass(frozen=True, slots=True)
class Log:
    """The server's log."""

    format: Literal["json", "text"] = setting("json", "One JSON object a line, or text for people.")
    level: Literal["debug", "info", "warning", "error"] = setting("info", "The least that is logged.")
