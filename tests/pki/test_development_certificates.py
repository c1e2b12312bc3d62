"""`certs/generate.py`: throwaway certificates for loopback, kept while they are good."""

from __future__ import annotations

import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from webhook.pki import Authority

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "certs" / "generate.py"
FILES = ["ca.crt", "tls.crt", "tls.key"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of `certs/` without certificates."""
    made = tmp_path / "certs"
    made.mkdir()
    shutil.copy(SCRIPT, made)
    return made


def generate(folder: Path, *options: str) -> str:
    command = [sys.executable, str(folder / SCRIPT.name), *options]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def contents(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in FILES]


def test_generate_writes_private_files_for_thirty_days_of_loopback(folder: Path) -> None:
    printed = generate(folder)
    assert printed.startswith("certificates for localhost, 127.0.0.1 are in certs/, valid for 30 days")
    assert sorted(file.name for file in folder.iterdir()) == [*FILES[:1], SCRIPT.name, *FILES[1:]]
    assert {oct((folder / name).stat().st_mode & 0o777) for name in FILES} == {"0o600"}
    assert [name for name in FILES if b"PRIVATE KEY" in (folder / name).read_bytes()] == ["tls.key"]
    leaf = x509.load_pem_x509_certificate((folder / "tls.crt").read_bytes())
    left = leaf.not_valid_after_utc - datetime.now(UTC)
    assert timedelta(days=29, hours=23) < left <= timedelta(days=30)
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "localhost" in names.get_values_for_type(x509.DNSName)
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1"]
    first = contents(folder)
    assert generate(folder) == ""
    assert contents(folder) == first


def expiring() -> bytes:
    now = datetime.now(UTC)
    leaf = Authority.create("test", now, timedelta(days=1)).sign(["localhost"], now, timedelta(hours=23))
    return leaf.certificate


def test_generate_replaces_all_if_forced_or_one_is_missing_damaged_or_expiring(folder: Path) -> None:
    generate(folder)
    spoilt: list[tuple[str, bytes | None]] = [(name, content) for name in FILES for content in (None, b"damaged\n")]
    for name, content in [*spoilt, ("tls.crt", expiring()), ("", b"")]:
        first = contents(folder)
        if content is None:
            (folder / name).unlink()
        elif name:
            (folder / name).write_bytes(content)
        generate(folder, *([] if name else ["--force"]))
        assert not set(contents(folder)) & {*first, content}, (name, content)
