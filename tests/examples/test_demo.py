"""The demo, run as users run it: in a copy of the repository, with new certificates."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PATIENCE = 60

EXAMPLES = sorted(file.name for file in (ROOT / "examples").glob("*.yaml"))
REVIEWS = sorted(file.name for file in (ROOT / "tests" / "reviews").glob("*.json"))


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The parts of the repository that the demo needs, with new certificates."""
    folder = tmp_path_factory.mktemp("demo")
    for part in ("examples", "tests/reviews", "certs"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("*.crt", "*.key", "__pycache__"))
    subprocess.run([sys.executable, "certs/generate.py"], cwd=folder, check=True, timeout=PATIENCE, capture_output=True)
    return folder


def demo(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "examples/demo.py"],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.fixture(scope="module")
def ended(copy: Path) -> subprocess.CompletedProcess[str]:
    return demo(copy)


def parts(text: str) -> Iterator[tuple[str, str]]:
    """Yield the title of each review and the text below it."""
    for part in re.split(r"\n(?=\S)", text)[1:]:
        title, _, rest = part.partition("\n")
        yield title.split("  ")[0], rest


def test_demo_exits_with_0(ended: subprocess.CompletedProcess[str]) -> None:
    assert (ended.returncode, ended.stderr) == (0, "")


def test_demo_covers_every_example_and_review(ended: subprocess.CompletedProcess[str]) -> None:
    titles = [title for title, _ in parts(ended.stdout)]
    assert titles[: len(EXAMPLES) + len(REVIEWS)] == [*(f"examples/{name}" for name in EXAMPLES), *REVIEWS]


def test_demo_shows_remedy_of_each_denial(ended: subprocess.CompletedProcess[str]) -> None:
    said = dict(parts(ended.stdout))
    denied = {title: text for title, text in said.items() if "  denied   " in text}
    assert {"examples/storm.yaml", "examples/wrong-directory.yaml"} <= denied.keys()
    assert "create-pod-two-replicas.json" in denied
    for text in denied.values():
        assert len(re.findall("  denied   GPS[0-9]{3} ", text)) == text.count("  remedy   ") > 0
        assert len(re.findall("  more     gpushare-webhook explain GPS[0-9]{3}\n", text)) == 1


def test_demo_shows_additions_as_diff(ended: subprocess.CompletedProcess[str]) -> None:
    said = dict(parts(ended.stdout))
    assert "+  runtimeClassName: nvidia" in said["examples/vectoradd.yaml"]
    assert "+  runtimeClassName: nvidia" in said["create-pod-vectoradd.json"]
    removed = [line for text in said.values() for line in text.splitlines() if line.startswith("    -")]
    assert removed == []


def test_demo_summary(ended: subprocess.CompletedProcess[str]) -> None:
    said = dict(parts(ended.stdout))
    denied = sum("  denied   " in text for text in said.values())
    patched = sum(" additions" in text for text in said.values())
    total = len(EXAMPLES) + len(REVIEWS)
    assert f"{total} reviews: {denied} denied, {patched} patched, {total - denied - patched} unchanged." in ended.stdout


def test_demo_has_no_colour_in_a_pipe(ended: subprocess.CompletedProcess[str]) -> None:
    assert "\x1b[" not in ended.stdout


def test_demo_honours_force_color(copy: Path, ended: subprocess.CompletedProcess[str]) -> None:
    coloured = demo(copy, FORCE_COLOR="1")
    assert "\x1b[32m" in coloured.stdout
    plain = re.sub(r"\x1b\[[0-9;]*m", "", coloured.stdout)
    assert plain.splitlines()[2:] == ended.stdout.splitlines()[2:]  # the first line names a port


def test_demo_leaves_no_process(copy: Path, ended: subprocess.CompletedProcess[str]) -> None:
    """The processes of the demo are those whose working directory is the copy."""
    assert [process for process in Path("/proc").glob("[0-9]*") if _folder_of(process) == copy] == []


def _folder_of(process: Path) -> Path | None:
    try:
        return (process / "cwd").readlink()
    except OSError:  # another user's, or gone
        return None


def test_demo_without_certificates_reports_missing_file(tmp_path: Path, copy: Path) -> None:
    bare = tmp_path / "bare"
    shutil.copytree(copy, bare, ignore=shutil.ignore_patterns("*.crt", "*.key"))
    failed = demo(bare)
    assert failed.returncode != 0
    assert "Traceback" not in failed.stderr
    assert "certs/ca.crt" in failed.stderr
