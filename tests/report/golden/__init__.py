"""Reports of one run in every format, recorded in `reports`.

`python -m tests.report.golden` writes them again. Read the difference before you commit it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.cli.run import run
from webhook import __version__
from webhook.report.check import CheckFormat
from webhook.report.data import json_text

RECORDED = Path(__file__).parent / "reports"

_POD = "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec:\n{spec}"
_CONTAINER = "  containers:\n  - name: {name}\n    resources:\n      limits:\n        {limits}\n"


def _pod(name: str, limits: str, *, namespace: str = "team-a", spec: str = "") -> str:
    container = _CONTAINER.format(name=name, limits=limits)
    return _POD.format(name=name, namespace=namespace, spec=f"{spec}{container}")


INPUTS: Mapping[str, str] = {
    ".gpushare.yaml": "severities: {GPS011: audit}\n",
    "allowed.yaml": _pod("allowed", "nvidia.com/gpu: 1"),
    "denied.yaml": _pod("two", "nvidia.com/gpu: 2") + "---\n" + _pod("three", 'nvidia.com/gpu: "3"  # all of them'),
    "warned.yaml": _pod("warned", "nvidia.com/gpu: 1", spec="  hostPID: true\n"),
    "audited.yaml": _pod("audited", "nvidia.com/gpu: 1", spec="  runtimeClassName: gvisor\n"),
    "exempt.yaml": _pod("exempt", "nvidia.com/gpu: 2", namespace="kube-system"),
    "skipped.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: skipped}\n",
    "unreadable.yaml": "apiVersion: v1\nkind: [\n",
    "malformed.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: malformed}\nspec: {containers: {}}\n",
    "values.yaml": "replicas: 2\nresources:\n  limits:\n    nvidia.com/gpu: 2\n",
    "rendered.yaml": "---\n# Source: chart/templates/pod.yaml\n" + _pod("rendered", "nvidia.com/gpu: 4"),
    "wide.yaml": _pod("wide", "{nvidia.com/gpu: 2, example.com/名前: 1, other: " + "1" * 150 + "}"),
    "50%, [a](b):\x1b[31m\n::error::.yaml": _pod('"[a](http://b)"', "nvidia.com/gpu: 2"),
}
"""The files of the run."""

ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    **{one.value: ("-o", one.value) for one in CheckFormat},
    "quiet": ("-q",),
    "quiet-with-skipped": ("-q", "--fail-on", "skipped"),
}
"""The options of each recorded report, by its name."""


@contextmanager
def folder() -> Iterator[None]:
    """Run in a temporary folder that holds the files."""
    before = Path.cwd()
    with TemporaryDirectory() as temporary:
        for name, content in INPUTS.items():
            (Path(temporary) / name).write_text(content)
        os.chdir(temporary)
        try:
            yield
        finally:
            os.chdir(before)


def report(name: str) -> str:
    """Return the report of the run with the options of a name. Its folder is the working directory."""
    ended = run("check", "-f", ".", "missing.yaml", *ARGUMENTS[name])
    assert ended.code == 2, ended
    return _without_rules(ended.out) if name == "sarif" else ended.out


def _without_rules(sarif: str) -> str:
    """Return the report with the codes of the rules alone: their texts are those of the checks."""
    log = json.loads(sarif)
    (run_of_log,) = log["runs"]
    driver = run_of_log["tool"]["driver"]
    driver["rules"] = [rule["id"] for rule in driver["rules"]]
    return json_text(log).replace(f'"{__version__}"', '"the version"')
