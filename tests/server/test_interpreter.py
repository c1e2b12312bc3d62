"""The garbage collector ignores all that a server imports: a pass over it would delay reviews by milliseconds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

UNREACHABLE = (
    "{apiVersion: v1, kind: Config, current-context: away,"
    " contexts: [{name: away, context: {cluster: away, user: away}}],"
    " clusters: [{name: away, cluster: {server: 'http://127.0.0.1:9'}}], users: [{name: away, user: {}}]}\n"
)
"""A kubeconfig of a cluster that cannot be reached: nothing listens on its port."""

PROGRAM = """
import gc, sys
from webhook.cli import main
from webhook.server import limits
prepare = limits.prepare
def prepared():
    prepare()
    found = {"kubernetes", "webhook.cluster.facts"} <= sys.modules.keys() and gc.get_freeze_count() > 20_000
    print("frozen" if found else "not frozen")
    sys.exit(0)
limits.prepare = prepared
main(["serve", "--config", "settings.yaml", "--kubeconfig", "kubeconfig.yaml"])
"""


@pytest.mark.slow
def test_imports_of_facts_are_frozen(tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text("facts: {nodes: true}\n")
    (tmp_path / "kubeconfig.yaml").write_text(UNREACHABLE)
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.stdout, ended.returncode) == ("frozen\n", 0), ended.stderr
