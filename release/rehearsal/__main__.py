"""Rehearse a release: `make rehearse-release`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from release.rehearsal import former, guide, installed, left, registry, shape, tampering
from release.rehearsal.cosign import cosign
from release.rehearsal.debian import base
from release.rehearsal.engine import engine
from tests.chart import tools
from tests.cluster.harness.base import RELEASE
from tests.cluster.harness.cache import ToolsMissingError
from tests.cluster.harness.cluster import UnavailableError
from tests.cluster.harness.place import Loopback
from tests.project.repository import ROOT
from webhook import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from release.rehearsal.engine import Engine
    from release.rehearsal.registry import Registry

_SOURCE = "https://git.example.com/gpushare/gpushare-webhook"
_BUILT, _PACKAGED, _SIGNED, _VERIFIED, _INSTALLED = range(5)


def main() -> int:
    """Rehearse; 1 where a step fails or a program is missing."""
    began = time.monotonic()
    try:
        with _folder() as folder, closing(Loopback(folder)) as here:
            served = registry.create(folder / "registry", here.port(5000))
            served.serve(here)
            with engine(folder / "engine", served.trusted) as made:
                _rehearse(folder, served, made)
    except (ToolsMissingError, UnavailableError, guide.FailedError, TimeoutError, RuntimeError) as problem:
        print(f"rehearse-release: {problem}", file=sys.stderr)
        return 1
    _say(f"\nRehearsed in {time.monotonic() - began:.0f} s.")
    return 0


def _rehearse(folder: Path, served: Registry, made: Engine) -> None:
    steps = guide.steps()
    reader = _reader(folder, served, made)
    _say(f"The commit {_git('log', '-1', '--format=%h %s')}, as {__version__}, in the registry {served.address}.")
    _timed(f"Debian {RELEASE}, which stands for the published base", lambda: _push_base(made, served))
    for number in (_BUILT, _PACKAGED, _SIGNED, _VERIFIED):
        _say(f"{steps[number].heading}: {reader.follow(steps[number]):.0f} s")
        if number == _BUILT:
            _quote(shape.check(made, f"{served.address}/{former.IMAGE}:{__version__}", _labels(reader)))
    _quote(tampering.refused(made, reader, served, former.IMAGE, __version__))
    _timed(f"{former.COMMIT} as {former.VERSION}", lambda: former.push(made, served, folder / "former"))
    with installed.cluster(served) as running:
        _say(f"{steps[_INSTALLED].heading}: {installed.show(running, reader, steps[_INSTALLED]):.0f} s")
        _say("Upgrade, rollback and removal, with 5 creates per second")
        _quote(installed.upgrade(running, served, __version__))
    _timed("Tests of the chart on the image", lambda: _test(folder, served, made, reader.clone))


@contextmanager
def _folder() -> Iterator[Path]:
    """The folder of the rehearsal. At the end it is gone, and with it every process and mount."""
    folder = Path(tempfile.mkdtemp(prefix="gpushare-rehearsal-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
    left.check(folder)


def _reader(folder: Path, served: Registry, made: Engine) -> guide.Reader:
    """A reader of the guide in a fresh clone, with the places of step 3 on this machine."""
    clone, pip = folder / "clone", folder / "pip.conf"
    _git("clone", "--quiet", "--no-hardlinks", str(ROOT), str(clone))
    (clone / ".venv").symlink_to(ROOT / ".venv")
    (folder / "records").mkdir()
    (folder / "home").mkdir()
    pip.write_text("[global]\ncert = /run/secrets/ca.pem\n")
    programs = [cosign().make(), Path(tools.helm()).parent]
    return guide.Reader(
        clone,
        os.environ
        | made.environment
        | {
            "PATH": ":".join([*map(str, programs), os.environ["PATH"]]),
            "HOME": str(folder / "home"),
            "COSIGN_PASSWORD": "",
            # With a root of its own, cosign asks no server for the public one, which no key of the guide needs.
            "SIGSTORE_ROOT_FILE": str(served.authority),
            "REGISTRY": served.address,
            "VERSION": __version__,
            "DEBIAN": f"{served.address}/debian",
            "SOURCE": _SOURCE,
            "PRIVATE": f"--secret id=pip.conf,src={pip} --secret id=ca.pem,src={registry.SYSTEM}",
        },
        folder / "records",
    )


def _push_base(made: Engine, served: Registry) -> None:
    name = f"{served.address}/debian:{RELEASE}-slim"
    made.add(base(RELEASE).make() / "root.tar", name)
    made.push(name)


def _labels(reader: guide.Reader) -> dict[str, str]:
    """The labels that the guide's step gives the image."""
    revision, created = _git("log", "-1", "--format=%H %cI").split()
    given = {"version": __version__, "source": _SOURCE, "revision": revision, "created": created}
    return given | {"base.name": reader.read("base")}


def _test(folder: Path, served: Registry, made: Engine, clone: Path) -> None:
    """Run the chart's tests on a cluster whose node has the built image. Raises `FailedError`."""
    archive = folder / "webhook.tar"
    made(
        "buildah",
        "push",
        "--quiet",
        f"{served.address}/{former.IMAGE}:{__version__}",
        f"docker-archive:{archive}:gpushare-webhook:test",
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--quiet",
        "--exhaustive=none",
        "tests/cluster/test_chart.py",
        "-k",
        "self-managed",
    ]
    environment = os.environ | {"WEBHOOK_IMAGE": str(archive), "CI": "true"}
    done = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise guide.FailedError(f"`{' '.join(command)}` ended with {done.returncode}:\n{done.stdout[-6000:]}")
    _quote(done.stdout.strip().splitlines()[-1:])


def _git(*arguments: str) -> str:
    return subprocess.check_output(["git", *arguments], cwd=ROOT, text=True).strip()  # noqa: S607


def _timed(title: str, run: Callable[[], None]) -> None:
    began = time.monotonic()
    run()
    _say(f"{title}: {time.monotonic() - began:.0f} s")


def _quote(lines: list[str]) -> None:
    for line in lines:
        _say(f"   {line}")


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
