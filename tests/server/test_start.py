"""A server that cannot start writes one line that says why, and exits with 2."""

from __future__ import annotations

import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.cli.run import run
from tests.server.certificates import Certificates, issue
from tests.server.process import FREE_PORTS, run_serve
from tests.server.within import restored_logging

PEM, PKCS8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, certificates: Certificates) -> Path:
    """A folder of files, each invalid in one way."""
    folder = tmp_path_factory.mktemp("wrong")
    issue(folder)
    (folder / "folder").mkdir()
    (folder / "text").write_text("hello\n")
    (folder / "good.crt").write_bytes(certificates.certificate.read_bytes())
    (folder / "good.key").write_bytes(certificates.key.read_bytes())
    (folder / "damaged.crt").write_bytes(certificates.certificate.read_bytes().replace(b"\nMI", b"\n!!", 1))
    key = serialization.load_pem_private_key(certificates.key.read_bytes(), None)
    encrypted = serialization.BestAvailableEncryption(b"open sesame")
    (folder / "encrypted.key").write_bytes(key.private_bytes(PEM, PKCS8, encrypted))
    weak = rsa.generate_private_key(65537, 1024)  # noqa: S505 - that is the point
    (folder / "weak.key").write_bytes(weak.private_bytes(PEM, PKCS8, serialization.NoEncryption()))
    (folder / "weak.crt").write_bytes(_signed_by_itself(weak).public_bytes(PEM))
    return folder


def _signed_by_itself(key: rsa.RSAPrivateKey) -> x509.Certificate:
    name, now = x509.Name([]), datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    return builder.not_valid_before(now).not_valid_after(now + timedelta(hours=1)).sign(key, hashes.SHA256())


def refused(*options: str) -> str:
    """The one line that a server writes when it cannot start."""
    with restored_logging():
        ended = run("serve", "--host", "127.0.0.1", *FREE_PORTS, *options)
    assert (ended.code, ended.out) == (2, "")
    (line,) = ended.err.splitlines()
    return line


def test_no_certificate() -> None:
    said = "serve: no certificate: give --tls-cert and --tls-key, or tls.certFile and tls.keyFile in the settings"
    assert refused() == said
    process = run_serve(*FREE_PORTS)
    assert (process.returncode, process.stdout, process.stderr) == (2, "", f"{said}\n")


@pytest.mark.parametrize(
    ("certificate", "key", "said"),
    [
        ("missing.crt", "good.key", "missing.crt: No such file or directory"),
        ("text", "good.key", "text: holds no certificate in PEM"),
        ("damaged.crt", "good.key", "damaged.crt: holds no certificate in PEM"),
        ("folder", "good.key", "folder: Is a directory"),
        ("good.crt", "missing.key", "missing.key: No such file or directory"),
        ("good.crt", "text", "text: holds no private key in PEM"),
        ("good.crt", "encrypted.key", "encrypted.key: is encrypted; give the key without a passphrase"),
        ("good.key", "good.crt", "good.key: holds no certificate in PEM"),
        ("good.crt", "tls.key", "tls.key: is not the key of the certificate in "),
        ("weak.crt", "weak.key", "weak.crt: "),
    ],
)
def test_unusable_certificate_or_key(files: Path, certificate: str, key: str, said: str) -> None:
    line = refused("--tls-cert", str(files / certificate), "--tls-key", str(files / key))
    assert line.startswith(f"serve: {files}/{said}")


@pytest.mark.parametrize("option", ["--port", "--health-port"])
def test_port_in_use(certificates: Certificates, option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        options = [*FREE_PORTS, *certificates.options, option, str(port)]
        process = run_serve(*options)
    assert (process.returncode, process.stdout) == (2, "")
    assert process.stderr == f"serve: cannot listen on 127.0.0.1:{port}: Address already in use\n"


def test_unknown_host(certificates: Certificates) -> None:
    line = refused(*certificates.options, "--host", "no-such-host.invalid")
    assert line.startswith("serve: cannot listen on no-such-host.invalid:0: ")
    assert "Unknown error" not in line
    assert "Success" not in line


def test_invalid_settings(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("mode: enforced\nserver:\n  prot: 1\n")
    ended = run("serve", "--config", file)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.splitlines() == [
        f'{file}:1:7: mode: must be "enforce", "warn" or "audit", not "enforced"; did you mean "enforce"?',
        f'{file}:3:3: server.prot: unknown key "prot"; did you mean "port"?',
    ]


def test_invalid_facts(certificates: Certificates, tmp_path: Path) -> None:
    file = tmp_path / "facts.yaml"
    file.write_text("nodes:\n  - name: 7\n")
    line = refused(*certificates.options, "--facts", str(file))
    assert line.startswith(f"{file}:2:11: nodes[0].name: ")
