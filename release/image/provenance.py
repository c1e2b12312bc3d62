"""Write the provenance of an image, a predicate of SLSA 1.0 (slsa.dev/spec/v1.0/provenance), to standard output.

    python -m release.image.provenance BASE VERSION SOURCE

BASE names the base by its digest, and SOURCE is the URL of the repository. The commit is the one checked out, and no
file of the image may differ from it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from release.lock import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PARTS = (".dockerignore", "Dockerfile", "LICENSE", "release/image", "webhook")
"""The paths that the image is made of."""


def predicate(base: str, version: str, source: str, commit: str, finished: datetime) -> dict[str, Any]:
    """The predicate. Raises `ValueError` where the base has no digest."""
    name, at, digest = base.partition("@sha256:")
    if not at:
        raise ValueError(f"{base} has no digest: name the base as NAME@sha256:…")
    repository = f"git+{source}@{commit}"
    return {
        "buildDefinition": {
            "buildType": f"{source}/blob/{commit}/Dockerfile",
            "externalParameters": {"BASE": base, "VERSION": version},
            "resolvedDependencies": [
                {"uri": repository, "digest": {"gitCommit": commit}},
                {"uri": f"docker://{name}", "digest": {"sha256": digest}},
            ],
        },
        "runDetails": {
            "builder": {"id": f"{source}/blob/{commit}/docs/how-to/release.md"},
            "metadata": {"finishedOn": finished.strftime("%Y-%m-%dT%H:%M:%SZ")},
        },
    }


def main(words: Sequence[str], root: Path = ROOT) -> int:
    """Print the predicate; 2 where the arguments are wrong, 1 where the image is not that of the commit."""
    commit = _git(root, "rev-parse", "HEAD").strip()
    try:
        base, version, source = words
        made = predicate(base, version, source, commit, datetime.now(UTC))
    except ValueError as problem:
        print(f"provenance: {problem}; usage: python -m release.image.provenance BASE VERSION SOURCE", file=sys.stderr)
        return 2
    if changed := _git(root, "status", "--porcelain", "--", *PARTS):
        advice = "commit or remove them, and build the image again"
        print(f"provenance: these files differ from the commit: {advice}\n{changed}", file=sys.stderr)
        return 1
    print(json.dumps(made, indent=2))
    return 0


def _git(root: Path, *arguments: str) -> str:
    return subprocess.check_output(["git", *arguments], cwd=root, text=True)  # noqa: S607


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
