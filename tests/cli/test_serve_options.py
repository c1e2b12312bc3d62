"""Options of `serve` are checked together with the settings file that they override."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import run

EQUAL = "must differ from {}, which is 8443 too; choose another port"


@pytest.mark.parametrize(
    ("arguments", "settings", "said"),
    [
        (["--port", "8443", "--health-port", "8443"], None, "--health-port: " + EQUAL.format("--port")),
        (["--port", "8443"], "server: {healthPort: 8443}", "s.yaml:1:22: server.healthPort: " + EQUAL.format("--port")),
        (["--health-port", "8443"], "server: {port: 8443}", "--health-port: " + EQUAL.format("server.port")),
        (
            ["--port", "8080"],
            None,
            "server.healthPort: must differ from --port, which is 8080 too; choose another port",
        ),
        (
            ["--host", "a b"],
            None,
            '--host: must be an address or a host name such as 0.0.0.0, :: or localhost, not "a b"',
        ),
        (["--tls-cert", ""], None, '--tls-cert: must be text that is not empty, not ""'),
        (["--tls-key", ""], "tls: {keyFile: x}", '--tls-key: must be text that is not empty, not ""'),
        (
            ["--port", "1"],
            "server: []",
            "s.yaml:1:9: server: must be a mapping, not a list; leave the key out for its defaults",
        ),
    ],
)
def test_wrong_option_is_named(here: Path, arguments: list[str], settings: str | None, said: str) -> None:
    if settings is not None:
        Path("s.yaml").write_text(settings)
        arguments = [*arguments, "--config", "s.yaml"]
    ended = run("serve", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(said)
    assert ended.err.count("\n") == 1


def test_option_overrides_wrong_value_in_file(here: Path) -> None:
    Path("s.yaml").write_text("server: {port: 8443, healthPort: 8443}\nlog: {level: loud}\n")
    ended = run("serve", "--config", "s.yaml", "--port", "0", "--log-level", "error")
    assert ended.err.startswith("serve: ")  # no certificate: the settings were taken


def test_problems_of_file_and_options_are_reported_together(here: Path) -> None:
    Path("s.yaml").write_text("mode: loud\n")
    ended = run("serve", "--config", "s.yaml", "--host", "a b")
    assert [line.split(" ")[0] for line in ended.err.splitlines()] == ["--host:", "s.yaml:1:7:"]


def test_missing_kubeconfig_is_named(here: Path) -> None:
    ended = run("serve", "--tls-mode", "self-managed", "--installed-as", "a/b", "--kubeconfig", "missing")
    assert ended.code == 2
    assert ended.err.startswith(
        "serve: cannot connect: missing: no such file; pass a kubeconfig that kubectl accepts with "
    )
