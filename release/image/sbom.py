"""Write the software bill of materials of the image's Python part, as CycloneDX JSON.

    python -m release.image.sbom OUTPUT

cyclonedx-py reads names, versions, licences and dependencies from the libraries as the image contains them, and the
digests of their wheels from release/image/requirements.txt. The result has no random identifier, and its time is
`SOURCE_DATE_EPOCH`, so that the same commit gives the same bytes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path
from typing import Any

from release.image.lock import LIBC, LOCK, MACHINES, PYTHON
from release.lock import ROOT
from webhook import __version__

VERSION = "1.6"
"""The CycloneDX specification that scanners read today."""

Document = dict[str, Any]


class IncompleteError(Exception):
    """The document lacks something that it must say; the message has one line for each."""


def combined(libraries: Document, locked: Document) -> Document:
    """The libraries as installed, each with the digests of its locked wheels.

    Raises `IncompleteError` where a library is not locked, has no digest or no licence, or where one is missing.
    """
    references = {_key(one): one["externalReferences"] for one in locked["components"]}
    found = {_key(one): one for one in libraries["components"]}
    problems = [
        *(f"{name} {version} is locked and not installed" for name, version in references.keys() - found.keys()),
        *(f"{name} {version} is installed and not locked" for name, version in found.keys() - references.keys()),
        *(f"{name} {version} has no licence" for (name, version), one in found.items() if not one.get("licenses")),
    ]
    if problems:
        raise IncompleteError("\n".join(sorted(problems)))
    components = [
        {**one, "externalReferences": [*references[key], *one.get("externalReferences", ())]}
        for key, one in found.items()
    ]
    return {**libraries, "components": components}


def _key(component: Document) -> tuple[str, str]:
    """The canonical name, as in the package's URL, and the version."""
    name, _, version = component["purl"].partition("@")
    return name.removeprefix("pkg:pypi/"), version


def _installed(folder: Path) -> Document:
    """What cyclonedx-py finds in the image's libraries and the project, installed into a folder."""
    libraries = folder / "libraries"
    # What the document says is the same for every machine.
    platforms = (f"--platform={tag}_{MACHINES[0]}" for tag in (LIBC, "manylinux_2_17", "manylinux2014"))
    script = ROOT / "release" / "image" / "libraries.sh"
    _run(script, sys.executable, libraries, f"--python-version={PYTHON}", *platforms)
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps")
    _run(*pip, "--build-constraint", ROOT / "constraints.txt", "--target", folder / "project", ROOT)
    environment = folder / "environment"
    venv.create(environment)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "image.pth").write_text(f"{libraries}\n{folder / 'project'}\n")
    document = _cyclonedx("environment", environment, "--pyproject", ROOT / "pyproject.toml")
    # The version is dynamic in pyproject.toml, which is all that cyclonedx-py reads of the project itself.
    document["metadata"]["component"]["version"] = __version__
    return document


def _cyclonedx(source: str, path: Path, *options: str | Path) -> Document:
    program = Path(sysconfig.get_path("scripts"), "cyclonedx-py")
    form = ("--spec-version", VERSION, "--output-reproducible", "--validate")
    document: Document = json.loads(_run(program, source, path, *form, *options))
    return document


def _run(*command: str | Path) -> str:
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> int:
    """Write the document, if it is complete and valid."""
    # Only the environment of a release has this library.
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    output = Path(sys.argv[1])
    try:
        with tempfile.TemporaryDirectory() as folder:
            document = combined(_installed(Path(folder)), _cyclonedx("requirements", LOCK))
    except subprocess.CalledProcessError as problem:
        print(f"sbom: {Path(problem.cmd[0]).name} failed with exit code {problem.returncode}", file=sys.stderr)
        return 1
    except IncompleteError as problem:
        print(f"sbom: {problem}", file=sys.stderr)
        return 1
    text = json.dumps(document, indent=2, sort_keys=True) + "\n"
    wrong = JsonStrictValidator(SchemaVersion.from_version(VERSION)).validate_str(text)
    if wrong:
        print(f"sbom: not valid CycloneDX {VERSION}: {wrong}", file=sys.stderr)
        return 1
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text)
    print(f"{output}: {len(document['components'])} libraries")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
