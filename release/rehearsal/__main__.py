"""Rehearse a release: `make rehearse-release`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from release.rehearsal import former, guide, installed, left, machine, registry, shape, tampering
from release.rehearsal.cosign import cosign
from release.rehearsal.debian import base
from release.rehearsal.engine import engine
from tests.chart import tools
from tests.cluster.harness.base import RELEASE
from tests.cluster.harness.cache import ToolsMissingError
from tests.cluster.harness.cluster import UnavailableError
from tests.cluster.harness.place import Loopback
from tests.cluster.harness.process import ProcessEndedError
from tests.project.repository import ROOT
from webhook import __version__

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from release.rehearsal.engine import Engine
    from release.rehearsal.registry import Registry

_SOURCE = "https://git.example.com/gpushare/gpushare-webhook"
_CORE = ("tests/cluster/test_webhook.py", "tests/cluster/test_chart.py", "-k", "test_webhook or self-managed")
"""The arguments of pytest that select the tests which run on the image; the guide names the same."""
_EXPECTED = (
    ToolsMissingError,
    UnavailableError,
    ProcessEndedError,
    guide.FailedError,
    subprocess.SubprocessError,
    OSError,  # also a network's, a timeout, and a missing program
    LookupError,
    RuntimeError,
    ValueError,
)
"""A step that fails raises these."""
_BUILT, _PACKAGED, _SIGNED, _VERIFIED, _INSTALLED = range(5)


def main() -> int:
    """Rehearse; 1 where a step fails, a program is missing, or something is left behind."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="gpushare-rehearsal-"))
    succeeded = False
    try:
        succeeded = _succeeds(lambda: _rehearse_in(folder))
    finally:
        # At the end the folder is gone, and with it every process and mount, also after a failure or a signal.
        succeeded = _succeeds(lambda: left.remove(folder)) and succeeded
    if succeeded:
        _say(f"\nRehearsed in {time.monotonic() - began:.0f} s.")
    return int(not succeeded)


def _end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    """End by an exception, so that everything that is open closes."""
    raise SystemExit(128 + number)


def _succeeds(run: Callable[[], None]) -> bool:
    """Whether it runs without a failure, which is printed."""
    try:
        run()
    except _EXPECTED as problem:
        output = getattr(problem, "stderr", None) or ""
        said = output.decode(errors="replace") if isinstance(output, bytes) else output
        print(f"rehearse-release: {problem or type(problem).__name__} {said.strip()}".rstrip(), file=sys.stderr)
        return False
    return True


def _rehearse_in(folder: Path) -> None:
    machine.check()
    with closing(Loopback(folder)) as here:
        served = registry.create(folder / "registry", here.port(5000))
        served.serve(here)
        with engine(folder / "engine", served.trusted) as made:
            _rehearse(folder, served, made)


def _rehearse(folder: Path, served: Registry, made: Engine) -> None:
    steps = guide.steps()
    reader = _reader(folder, served, made)
    _say(f"The commit {_git('log', '-1', '--format=%h %s')}, as {__version__}, in the registry {served.address}.")
    _timed(f"Debian {RELEASE}, which stands for the published base", lambda: _push_base(made, served))
    for number in (_BUILT, _PACKAGED, _SIGNED, _VERIFIED):
        _say(f"{steps[number].heading}: {reader.follow(steps[number]):.0f} s")
        if number == _BUILT:
            _quote(shape.check(made, f"{served.address}/{former.IMAGE}:{__version__}", _labels(reader)))
    _quote(tampering.refused(made, reader, served, __version__))
    _timed(f"{former.COMMIT} as {former.VERSION}", lambda: former.push(made, served, folder / "former"))
    with installed.cluster(served) as running:
        _say(f"{steps[_INSTALLED].heading}: {installed.show(running, reader, steps[_INSTALLED]):.0f} s")
        _say("Upgrade, rollback and removal, with 5 creates per second")
        _quote(installed.upgrade(running, served, __version__))
    _timed("Tests on the image in a cluster", lambda: _test(folder, served, made, reader.clone))


def _reader(folder: Path, served: Registry, made: Engine) -> guide.Reader:
    """A reader of the guide in a fresh clone, with the places of step 3 on this machine."""
    clone, pip = folder / "clone", folder / "pip.conf"
    _git("clone", "--quiet", "--no-hardlinks", str(ROOT), str(clone))
    (clone / ".venv").symlink_to(ROOT / ".venv")
    (folder / "records").mkdir()
    (folder / "home").mkdir()
    (folder / "keys").mkdir()
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
            "KEYS": str(folder / "keys"),
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
    """Run tests on a cluster whose node has the built image. Raises `FailedError` where one fails or is skipped."""
    archive = folder / "webhook.tar"
    made(
        "buildah",
        "push",
        "--quiet",
        f"{served.address}/{former.IMAGE}:{__version__}",
        f"docker-archive:{archive}:gpushare-webhook:test",
    )
    command = [sys.executable, "-m", "pytest", "--quiet", "--exhaustive=none", *_CORE]
    environment = os.environ | {"WEBHOOK_IMAGE": str(archive), "CI": "true"}
    done = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True, check=False)
    counted = done.stdout.strip().splitlines()[-1:]
    if done.returncode or "skipped" in str(counted):
        raise guide.FailedError(f"`{' '.join(command)}` ended with {done.returncode}:\n{done.stdout[-6000:]}")
    _quote(counted)


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
