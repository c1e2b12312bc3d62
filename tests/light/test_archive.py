"""The archives and the manifest of the krew plugin, from wheels that the tests make."""

from __future__ import annotations

import hashlib
import io
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

from krew.__main__ import main
from krew.archive import archive
from krew.libraries import DifferentError, unpacked
from krew.manifest import file_name, manifest
from krew.platforms import PLATFORMS
from webhook import __version__

ARM = PLATFORMS[1]


def wheel(folder: Path, name: str, **files: str) -> Path:
    """A wheel with files, whose names have `__` for a dot."""
    path = folder / name
    with zipfile.ZipFile(path, "w") as archive:
        for file, content in files.items():
            archive.writestr(file.replace("__", "."), content)
    return path


def test_compiled_modules_of_all_pythons_lie_side_by_side(tmp_path: Path) -> None:
    metadata = {"a-1__dist-info/RECORD", "a-1__dist-info/WHEEL", "a-1__dist-info/sboms/a__json"}
    wheels = [
        wheel(tmp_path, "a-1-cp311.whl", **{"a__py": "", "a__cpython-311__so": "1", **dict.fromkeys(metadata, "1")}),
        wheel(tmp_path, "a-1-cp312.whl", **{"a__py": "", "a__cpython-312__so": "2", **dict.fromkeys(metadata, "2")}),
    ]
    assert unpacked(wheels) == {"a.py": b"", "a.cpython-311.so": b"1", "a.cpython-312.so": b"2"}


def test_different_content_under_one_path_is_an_error(tmp_path: Path) -> None:
    wheels = [wheel(tmp_path, "a-1-cp311.whl", a__py="1"), wheel(tmp_path, "a-1-cp312.whl", a__py="2")]
    with pytest.raises(DifferentError, match=r"^a\.py of a-1-cp312\.whl differs from that of another wheel$"):
        unpacked(wheels)


def test_archive_is_reproducible() -> None:
    files = {"click/core.py": b"core", "a.py": b"a"}
    packed = archive(files, ARM, 1_700_000_000)
    assert packed == archive(dict(reversed(files.items())), ARM, 1_700_000_000)
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        entries = {entry.name: entry for entry in tar}
        launcher = tar.extractfile("kubectl-gpushare")
        assert launcher is not None
        text = launcher.read().decode()
    assert list(entries) == ["LICENSE", "kubectl-gpushare", "lib/a.py", "lib/click/core.py", "start.py"]
    assert {name for name, entry in entries.items() if entry.mode == 0o755} == {"kubectl-gpushare"}
    assert {entry.mtime for entry in entries.values()} == {1_700_000_000}
    assert "for linux/arm64 with glibc;" in text
    assert "@PLATFORM@" not in text


def test_manifest_names_archives() -> None:
    text = manifest(
        {platform: platform.name.encode() for platform in PLATFORMS}, "https://downloads.example.com/gpushare/"
    )
    spec = yaml.safe_load(text)["spec"]
    assert spec["version"] == f"v{__version__}"
    assert [one["selector"]["matchLabels"] for one in spec["platforms"]] == [
        {"os": os, "arch": arch} for os in ("linux", "darwin") for arch in ("amd64", "arm64")
    ]
    assert spec["platforms"][1]["uri"] == f"https://downloads.example.com/gpushare/{file_name(ARM)}"
    assert spec["platforms"][1]["sha256"] == hashlib.sha256(b"linux-arm64").hexdigest()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["", "build/krew"], "krew: set BASE_URL to the https:// address below which you publish the archives\n"),
        (
            ["https://example.com", "build/krew", "linux-amd64", "plan9-amd64"],
            "krew: no platform plan9-amd64; PLATFORMS may name linux-amd64, linux-arm64, darwin-amd64, darwin-arm64\n",
        ),
    ],
    ids=["no address", "unknown platform"],
)
def test_wrong_arguments_are_reported(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["krew", "any.whl", *arguments])
    assert main() == 2
    assert capsys.readouterr().err == message
