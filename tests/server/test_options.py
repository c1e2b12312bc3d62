"""Options of `serve` go before its settings file; settings without effect are named."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.certificates import Certificates
from tests.server.lines import Lines
from tests.server.process import ended, serve
from tests.server.reviews import pod, review

pytestmark = pytest.mark.slow


def test_options_override_settings_file(certificates: Certificates, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as another:
        port, health_port = one.getsockname()[1], another.getsockname()[1]
        settings = tmp_path / "settings.yaml"
        settings.write_text(
            f"server: {{host: 203.0.113.1, port: {port}, healthPort: {health_port}}}\n"
            "tls: {certFile: missing.crt, keyFile: missing.key}\n"
            "log: {format: text, level: error}\n"
            "limits: {perContainer: 2, perPod: 2}\n"
        )
        with serve(certificates, "--config", str(settings), "--log-format", "json", "--log-level", "info") as server:
            assert {server.client.port, server.client.health_port}.isdisjoint({port, health_port})
            assert server.log.event("ready")["host"] == "127.0.0.1"
            answer = server.client.review("/mutate", review(pod(2))).json()
    assert answer["response"]["allowed"] is True  # what has no option comes from the file


def test_settings_file_without_options(certificates: Certificates, tmp_path: Path) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text(
        "server: {host: 127.0.0.1, port: 0, healthPort: 0, shutdownDelay: 0s}\n"
        f"tls: {{certFile: {certificates.certificate}, keyFile: {certificates.key}}}\n"
        "log: {format: text}\n"
    )
    facts = tmp_path / "facts.yaml"
    facts.write_text("runtimeClasses: []\n")
    command = [sys.executable, "-m", "webhook", "serve", "--config", str(settings), "--facts", str(facts)]
    with ended(subprocess.Popen(command, stdout=subprocess.PIPE)) as process:
        assert process.stdout is not None
        log = Lines(process.stdout)
        ready = log.wait_for(lambda line: " ready " in line)
        assert " host=127.0.0.1 " in ready
        process.terminate()
        assert process.wait(20) == 0
        assert log.to_the_end()[-1].split()[2:] == ["stopped"]
