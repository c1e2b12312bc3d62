"""Both distributions in one environment share files: what each says, and the remedy."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.light.environments import Environment, build, installed
from tests.project.repository import ROOT
from webhook import __version__

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]

BOTH = (
    "gpushare-webhook {} and gpushare-check {} are both installed and share files, so that each breaks when the other "
    "changes: uninstall both, then install one\n"
)
POD = ROOT / "examples" / "vectoradd.yaml"


@pytest.fixture(scope="module")
def full(registry: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of gpushare-webhook."""
    return build(ROOT, tmp_path_factory.mktemp("full"))


@pytest.fixture
def environment(light: Environment, tmp_path: Path) -> Environment:
    """An environment with the libraries of gpushare-check, and none of the distributions."""
    environment = installed(tmp_path / "environment")
    (environment.packages / "libraries.pth").write_text(str(libraries(light, tmp_path)))
    return environment


def libraries(light: Environment, folder: Path) -> Path:
    """A folder with what gpushare-check depends on."""
    linked = folder / "libraries"
    linked.mkdir()
    for entry in light.packages.iterdir():
        if not entry.name.startswith(("webhook", "gpushare")):
            (linked / entry.name).symlink_to(entry)
    return linked


def install(environment: Environment, *wheels: Path) -> None:
    for wheel in wheels:
        environment.pip("install", "--quiet", "--no-deps", "--no-index", str(wheel))


def renewed(wheel: Path, folder: Path) -> Path:
    """A wheel of a later version, with nothing else changed."""
    later = folder / wheel.name.replace(__version__, "99.0.0")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(later, "w") as new:
        for item in old.infolist():
            content = old.read(item).replace(f'"{__version__}"'.encode(), b'"99.0.0"')
            content = content.replace(f"Version: {__version__}\n".encode(), b"Version: 99.0.0\n")
            if item.filename.endswith("/RECORD"):  # without digests, which would be those of the old content
                content = b"".join(line.partition(b",")[0] + b",,\n" for line in content.splitlines())
                content = content.replace(f"-{__version__}.".encode(), b"-99.0.0.")
            new.writestr(item.filename.replace(f"-{__version__}.", "-99.0.0."), content)
    return later


@pytest.mark.parametrize("light_first", [True, False], ids=["light first", "full first"])
def test_version_reports_both(environment: Environment, wheel: Path, full: Path, light_first: bool) -> None:
    install(environment, *((wheel, full) if light_first else (full, wheel)))
    ended = environment.run("gpushare-webhook", "version")
    assert (ended.returncode, ended.stdout) == (0, f"gpushare-webhook {__version__}\n")
    assert ended.stderr == BOTH.format(__version__, __version__)
    assert environment.run("gpushare-webhook", "check", "-f", POD).returncode == 0


@pytest.mark.parametrize("gone", ["gpushare-check", "gpushare-webhook"])
def test_reinstall_repairs_what_uninstall_broke(environment: Environment, wheel: Path, full: Path, gone: str) -> None:
    install(environment, full, wheel)
    environment.pip("uninstall", "--quiet", "--yes", gone)
    assert not (environment.folder / "bin" / "gpushare-webhook").exists()
    environment.pip("uninstall", "--quiet", "--yes", "gpushare-check", "gpushare-webhook")
    assert not (environment.packages / "webhook").exists()
    install(environment, wheel)
    ended = environment.run("gpushare-webhook", "version")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_serve_refuses_modules_of_two_versions(
    environment: Environment, wheel: Path, full: Path, tmp_path: Path
) -> None:
    install(environment, full, renewed(wheel, tmp_path))
    ended = environment.run("gpushare-webhook", "serve")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "Error: " + BOTH.format(__version__, "99.0.0")


def test_internal_error_names_two_versions(environment: Environment, wheel: Path, full: Path, tmp_path: Path) -> None:
    install(environment, full, renewed(wheel, tmp_path))
    (environment.packages / "webhook" / "cli" / "check.py").write_text("from webhook.cli import nothing\n")
    ended = environment.run("gpushare-webhook", "check")
    assert (ended.returncode, ended.stdout) == (3, "")
    assert ended.stderr.startswith("internal error: ")
    assert ended.stderr.endswith("; " + BOTH.format(__version__, "99.0.0"))


def test_build_is_reproducible(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    first, second = (build(ROOT / "light", tmp_path / folder) for folder in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()
    assert wheel.name == first.name
