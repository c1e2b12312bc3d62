"""Certificate, client CA, settings and facts are reloaded while the server runs; invalid ones are rejected."""

from __future__ import annotations

import json
import signal
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from tests.server.certificates import HOSTS, Certificates, issue, of_an_unknown_kind
from tests.server.client import measured, reply, request
from tests.server.process import Serve, serve
from tests.server.reviews import pod, review
from tests.server.within import configuration, running
from webhook.pki import Authority

pytestmark = pytest.mark.slow

TWO = request("POST", "/mutate", json.dumps(review(pod(2))).encode())
HEAD = "server: {shutdownDelay: 0s}\n"


@dataclass(frozen=True, slots=True)
class Reloading:
    """A server with files of its own."""

    server: Serve
    certificates: Certificates
    settings: Path
    facts: Path

    def reload(self) -> None:
        """Make the server reload its files."""
        self.server.process.send_signal(signal.SIGHUP)

    def applied(self, what: str) -> None:
        """Reload, and wait until the server has applied something."""
        self.reload()
        self.server.log.event("reloaded", what=what)

    def rejected(self, what: str) -> str:
        """Reload, wait until the server has rejected something, and return why."""
        self.reload()
        return str(self.server.log.event("reload rejected", what=what)["problem"])

    def allows_two(self) -> bool:
        """Whether a pod of two replicas is allowed."""
        allowed = self.server.client.say(TWO).json()["response"]["allowed"]
        assert isinstance(allowed, bool)
        return allowed

    def serial(self) -> int:
        """The serial number of the certificate that a new connection is shown."""
        context = ssl.create_default_context(cafile=str(self.certificates.authority))
        with self.server.client.connect(context) as connection:
            shown = connection.getpeercert(binary_form=True)
        assert shown is not None
        return x509.load_der_x509_certificate(shown).serial_number


@pytest.fixture
def reloading(tmp_path: Path) -> Iterator[Reloading]:
    own = issue(tmp_path)
    settings, facts = tmp_path / "settings.yaml", tmp_path / "facts.yaml"
    settings.write_text(HEAD)
    facts.write_text("{}")
    with serve(own, "--config", str(settings), "--facts", str(facts)) as server:
        yield Reloading(server, own, settings, facts)


def put(file: Path, content: str | bytes) -> None:
    """Replace a file atomically, as the kubelet does."""
    new = file.with_suffix(".new")
    new.write_bytes(content.encode() if isinstance(content, str) else content)
    new.replace(file)


def renewed(
    certificates: Certificates, lifetime: timedelta = timedelta(hours=1), ahead: timedelta = timedelta(0)
) -> int:
    """Put a new authority's leaf, and the authority, into the files: the leaf's serial number.

    They are signed by a clock that is so far ahead.
    """
    now = datetime.now(UTC) + ahead
    authority = Authority.create("new", now, timedelta(days=1))
    leaf = authority.sign(HOSTS, now, lifetime)
    put(certificates.authority, authority.bundle())
    put(certificates.certificate, leaf.certificate)
    put(certificates.key, leaf.key)
    return x509.load_pem_x509_certificate(leaf.certificate).serial_number


def test_reloaded_settings_apply_to_open_connection(reloading: Reloading) -> None:
    with reloading.server.client.connect() as connection:
        connection.sendall(TWO)
        assert reply(connection).json()["response"]["allowed"] is False
        put(reloading.settings, HEAD + "mode: warn\n")
        reloading.applied("settings")
        connection.sendall(TWO)
        assert reply(connection).json()["response"]["allowed"] is True
    assert measured(reloading.server.client, "settings_generation") == 2


def test_invalid_settings_are_rejected(reloading: Reloading) -> None:
    put(reloading.settings, HEAD + "limits: {perContainer: 5, perPods: 2}\n")
    problem = reloading.rejected("settings")
    assert problem.startswith(f"{reloading.settings}:2:")
    assert "limits.perPods" in problem
    assert reloading.allows_two() is False
    assert measured(reloading.server.client, "settings_generation") == 1
    assert measured(reloading.server.client, 'reloads_total{result="refused",what="settings"}') == 1
    assert f"[ ]settings refused: {problem}\n" in reloading.server.client.health("/readyz?verbose").body.decode()
    put(reloading.settings, HEAD + "mode: warn\n")
    reloading.applied("settings")
    assert "[ ]settings refused: none\n" in reloading.server.client.health("/readyz?verbose").body.decode()


def test_restored_settings_are_logged_without_new_generation(reloading: Reloading) -> None:
    put(reloading.settings, "mode: strict\n")
    reloading.rejected("settings")
    put(reloading.settings, HEAD)
    reloading.reload()
    reloading.server.log.event("restored to the active version", what="settings")
    assert measured(reloading.server.client, "settings_generation") == 1


def test_settings_that_need_restart_are_logged(reloading: Reloading) -> None:
    put(reloading.settings, "server: {shutdownDelay: 0s, maxInFlight: 3}\nlog: {level: error}\nmode: warn\n")
    reloading.applied("settings")
    for key in ("server.maxInFlight", "log.level"):
        reloading.server.log.event("setting takes effect after a restart", key=key)
    assert reloading.allows_two() is True


@pytest.mark.parametrize(("before", "after"), [("false", "true"), ("true", "false")])
async def test_facts_settings_need_restart(certificates: Certificates, before: str, after: str) -> None:
    """Otherwise facts would depend on a watch that was never started."""
    kept = f"facts: {{runtimeClasses: {before}}}"
    async with running(certificates, kept) as server:
        in_force = server.server.live
        at_first = in_force.evaluator
        await in_force.apply_settings(configuration(f"facts: {{runtimeClasses: {after}}}", certificates))
        assert in_force.evaluator is at_first
        await in_force.apply_settings(
            configuration(f"{{mode: warn, facts: {{runtimeClasses: {after}}}}}", certificates)
        )
        expected = configuration(f"{{mode: warn, {kept}}}", certificates).settings
        assert in_force.evaluator.snapshot.settings == expected
        server.log.event("setting takes effect after a restart", key="facts.runtimeClasses")


def test_reloaded_facts_apply_to_next_review(reloading: Reloading) -> None:
    asked = request("POST", "/mutate", json.dumps(review(pod())).encode())
    assert "warnings" not in reloading.server.client.say(asked).json()["response"]
    put(reloading.facts, "runtimeClasses: []\n")
    reloading.applied("facts")
    (warning,) = reloading.server.client.say(asked).json()["response"]["warnings"]
    assert warning.startswith("GPS011 ")


def test_reloaded_certificate_keeps_connections(reloading: Reloading) -> None:
    with reloading.server.client.connect() as connection:
        connection.sendall(TWO)
        assert reply(connection).status == 200
        serial = renewed(reloading.certificates)
        reloading.applied("certificate")
        assert reloading.serial() == serial
        connection.sendall(TWO)
        assert reply(connection).status == 200


def test_certificate_with_unknown_key_type_is_rejected(reloading: Reloading) -> None:
    put(reloading.certificates.certificate, of_an_unknown_kind())
    assert reloading.rejected("certificate").startswith(f"{reloading.certificates.certificate}: cannot be used: ")
    assert measured(reloading.server.client, 'reloads_total{result="refused",what="certificate"}') == 1


@pytest.mark.parametrize(
    ("lifetime", "ahead", "said"),
    [
        (timedelta(minutes=-1), timedelta(0), "the certificate expired at "),
        (timedelta(hours=1), timedelta(hours=2), "the certificate is not valid before "),
    ],
)
def test_certificate_outside_validity_is_rejected(
    reloading: Reloading, lifetime: timedelta, ahead: timedelta, said: str
) -> None:
    before = reloading.serial()
    authority = reloading.certificates.authority.read_bytes()
    renewed(reloading.certificates, lifetime, ahead)
    assert said in reloading.rejected("certificate")
    put(reloading.certificates.authority, authority)
    assert reloading.serial() == before


def test_mounted_secret_is_reloaded(tmp_path: Path) -> None:
    """The kubelet puts the files into a folder of their own and exchanges a link to it."""
    first, second = tmp_path / "..first", tmp_path / "..second"
    first.mkdir()
    second.mkdir()
    link = tmp_path / "..data"
    link.symlink_to(first.name)
    issue(first)
    newer = issue(second)
    mounted = Certificates(newer.authority, link / "tls.crt", link / "tls.key", first / "settings.yaml")
    mounted_first = Certificates(first / "ca.crt", mounted.certificate, mounted.key, mounted.settings)
    with serve(mounted_first) as server:
        exchanged = tmp_path / "..tmp"
        exchanged.symlink_to(second.name)
        exchanged.replace(link)
        reloading = Reloading(server, mounted, mounted.settings, mounted.settings)
        reloading.applied("certificate")
        shown = x509.load_pem_x509_certificate((second / "tls.crt").read_bytes()).serial_number
        assert reloading.serial() == shown
