"""All formats of one run report the same findings, the same totals and the same exit code, whatever leaves some out."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.run import Ended, run

pytestmark = pytest.mark.slow

CODES = ("GPS001", "GPS002", "GPS004", "GPS008", "GPS009", "GPS018", "GPS023")
FORMATS = ("json", "junit", "sarif", "github")
FAILING = {
    "deny": {"denied"},
    "warn": {"denied", "warned"},
    "skipped": {"denied", "warned", "skipped"},
    "never": set[str](),
}
OTHER_OBJECTS = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n",
    "apiVersion: v1\nkind: Pod\nspec: {containers: {}}\n",
    "spec: [unclosed\n",
    "apiVersion: example.com/v1\nkind: Odd\nmetadata: {name: odd}\n"
    "spec: {template: {spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 2}}}]}}}\n",
)
PIPES: tuple[dict[str, Any], ...] = (
    {"value": "/elsewhere"},
    {"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
)


def container(random: Random, number: int) -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": f"c{number}",
        "resources": {"limits": {"nvidia.com/gpu": random.choice([1, 2, 3, "x"])}},
    }
    if random.random() < 0.3:
        made["env"] = [{"name": "CUDA_MPS_PIPE_DIRECTORY", **random.choice(PIPES)}]
    if random.random() < 0.2:
        made["securityContext"] = {"runAsUser": random.choice([1, 2])}
    return made


def pod(random: Random) -> str:
    """Return a pod with many findings or none, some of which its comments suppress."""
    annotations = {f"gpushare-webhook/x{number}": "1" for number in range(random.choice([0, 0, 1, 25]))}
    name = random.choice(["a", "b", "", "日本語", "x::y", "<&>\"'"])
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**({"name": name} if name else {}), "annotations": annotations},
        "spec": {
            "hostPID": random.choice([True, False]),
            "containers": [container(random, number) for number in range(random.choice([1, 2, 25, 45]))],
        },
    }
    lines = yaml.safe_dump(manifest, sort_keys=False, allow_unicode=True).splitlines()
    commented = [line + (comment(random) if random.random() < 0.1 else "") for line in lines]
    return "\n".join([comment(random), *commented] if random.random() < 0.2 else commented) + "\n"


def listed(random: Random) -> str:
    return ",".join(random.sample(CODES, 2))


def comment(random: Random) -> str:
    return f"  # gpushare-webhook: ignore {listed(random)} - why"


def written(random: Random) -> tuple[list[str], list[str]]:
    """Write manifests, settings and perhaps a baseline; return the names of the manifests and the options."""
    files = [f"m{number}.yaml" for number in range(random.choice([1, 3]))]
    for file in files:
        documents = [pod(random) if random.random() < 0.7 else random.choice(OTHER_OBJECTS) for _ in range(2)]
        Path(file).write_text("---\n".join(documents), encoding="utf-8")
    suppress = {"suppress": {"comments": True}} if random.random() < 0.7 else {}
    Path("settings").write_text(json.dumps(suppress))
    options = ["--config", "settings"]
    if random.random() < 0.4:
        run("check", *files, *options, "-o", "json=baseline", "--select", listed(random))
        options += ["--baseline", "baseline"]
    options += ["--select", ",".join(random.sample(CODES, 5))] if random.random() < 0.3 else []
    options += ["--ignore", listed(random)] if random.random() < 0.3 else []
    return files, options


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.randoms(use_true_random=False))
def test_formats_agree(here: Path, random: Random) -> None:
    files, options = written(random)
    fail_on = random.choice(list(FAILING))
    every = ["check", *files, *options, "--fail-on", fail_on]
    text = run(*every, "-o", "text", *(part for one in FORMATS for part in ("-o", f"{one}=report.{one}")))
    report = json.loads(Path("report.json").read_text())
    decisions = Counter(result["decision"] for result in report["results"])
    failing = sum(decisions[one] for one in FAILING[fail_on])
    quiet = run(*every, "-q")
    code = 2 if report["errors"] else int(failing > 0)
    assert text.code == quiet.code == code
    assert bool(quiet.out) >= bool(decisions["denied"])
    assert_sums(report, decisions)
    assert_text(report, text)
    assert_junit(report, decisions)
    assert_lists(report)


def found(report: Any) -> Counter[tuple[str, str]]:
    return Counter((one["code"], one["severity"]) for result in report["results"] for one in result["findings"])


def assert_sums(report: Any, decisions: Counter[str]) -> None:
    """Check that each decision follows from the findings, and the summary from the results."""
    for result in report["results"]:
        severities = {one["severity"] for one in result["findings"]}
        follows = "denied" if "deny" in severities else "warned" if "warn" in severities else "allowed"
        assert result["decision"] in (follows, "skipped") or result["omitted"]
    summary = report["summary"]
    assert {one: summary[one] for one in ("allowed", "warned", "denied", "skipped") if summary[one]} == decisions
    assert (summary["objects"], summary["errors"]) == (len(report["results"]), len(report["errors"]))
    suppressed: Counter[str] = Counter()
    for result in report["results"]:
        for one in result.get("suppressed", ()):
            suppressed[one["by"]] += one.get("count", 1)
    assert report.get("suppressed", {}) == suppressed


def assert_text(report: Any, ended: Ended) -> None:
    lines = ended.out.splitlines()
    heads = [line.split(" ") for line in lines if line.startswith("m") and line.split(" ")[1] in ("deny", "warn")]
    counts = found(report)
    assert Counter((head[2], head[1]) for head in heads) == counts
    omitted = sum(sum(result.get("omitted", {}).values()) for result in report["results"])
    if counts.total() + omitted > 1:
        tallied = [f"{code} {severity} {count}" for (code, severity), count in sorted(counts.items())]
        assert ", ".join(tallied + ([f"{omitted} not listed"] if omitted else [])) in lines
    assert lines[-1].startswith("assumed: ") == ("assumed" in report)
    assert lines[-2 if "assumed" in report else -1].startswith(f"{len(report['results'])} object")


def assert_junit(report: Any, decisions: Counter[str]) -> None:
    suites = ElementTree.fromstring(Path("report.junit").read_bytes())  # noqa: S314 - our own report
    totals = [sum(int(suite.attrib[one]) for suite in suites) for one in ("tests", "failures", "errors", "skipped")]
    errors = len(report["errors"])
    assert totals == [decisions.total() + errors, decisions["denied"], errors, decisions["skipped"]]


def assert_lists(report: Any) -> None:
    """Check the formats that list findings: each finding once, and each error once."""
    counts, errors = found(report), len(report["errors"])
    (sarif,) = json.loads(Path("report.sarif").read_text())["runs"]
    levels = {"error": "deny", "warning": "warn", "note": "audit"}
    assert Counter((one["ruleId"], levels[one["level"]]) for one in sarif["results"]) == counts
    notes = errors + ("assumed" in report)
    assert len(sarif["invocations"][0]["toolExecutionNotifications"]) == notes
    assert sarif["properties"]["summary"] == report["summary"]
    fingerprints = {one["partialFingerprints"]["gpushareWebhook/v1"] for one in sarif["results"]}
    assert len(fingerprints) == counts.total()
    assert len(Path("report.github").read_text().splitlines()) == counts.total() + errors + 1
