"""Baselines: which findings of an earlier report are left out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.cli.run import Ended, run


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with manifests, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "apps").mkdir()
    (tmp_path / "apps" / "web.yaml").write_text(pod("web", 2, 1) + "---\n" + pod("batch", 1, 4))
    (tmp_path / "train.yaml").write_text(pod("train", 3))
    return tmp_path


def pod(name: str, *amounts: int) -> str:
    """A pod whose containers ask for amounts of a GPU."""
    containers = [
        {"name": f"c{index}", "resources": {"limits": {"nvidia.com/gpu": amount}}}
        for index, amount in enumerate(amounts)
    ]
    # Quotes, because PyYAML leaves out those of words such as N, which kubectl reads as no text.
    metadata = yaml.safe_dump({"name": name}, default_style='"', width=10**6)
    spec = yaml.safe_dump({"spec": {"containers": containers}})
    return f"apiVersion: v1\nkind: Pod\nmetadata:\n  {metadata}{spec}"


def findings(ended: Ended) -> list[tuple[str, str, str]]:
    return [
        (result["object"]["name"], finding["code"], finding["path"])
        for result in ended.json()["results"]
        for finding in result["findings"]
    ]


def check(*options: object) -> Ended:
    return run("check", "-R", ".", "-o", "json", "--exclude", "baseline.json", *options)


def write(*options: object) -> None:
    """Write a report of all findings to the baseline."""
    run("check", "-R", ".", "-o", "json=baseline.json", "--exclude", "baseline.json", *options)


def test_run_with_baseline_reports_nothing(repository: Path) -> None:
    assert check().code == 1
    write()
    ended = check("--baseline", "baseline.json", "--fail-on", "warn")
    assert (ended.code, findings(ended)) == (0, [])
    assert ended.json()["suppressed"] == {"baseline": 5}
    assert (
        "5 findings suppressed by the baseline, which the cluster does not read"
        in run("check", "apps/", "train.yaml", "--baseline", "baseline.json").out
    )


def test_baseline_is_refreshed_in_place(repository: Path) -> None:
    write()
    write("--baseline", "baseline.json")
    assert findings(check("--baseline", "baseline.json", "--fail-on", "warn")) == []


def test_finding_at_another_place_is_reported(repository: Path) -> None:
    write()
    (repository / "train.yaml").write_text(pod("train", 1, 3))
    ended = check("--baseline", "baseline.json")
    assert {path for _, _, path in findings(ended)} == {"/spec/containers/1/resources/limits/nvidia.com~1gpu"}


def test_name_of_file_may_be_written_in_another_way(repository: Path) -> None:
    write()
    assert (
        findings(run("check", "./apps", repository / "train.yaml", "-o", "json", "--baseline", "baseline.json")) == []
    )


def test_same_object_in_another_file_is_reported(repository: Path) -> None:
    write()
    (repository / "copy.yaml").write_text((repository / "train.yaml").read_text())
    assert len(findings(check("--baseline", "baseline.json"))) == 1


def test_findings_that_are_not_listed_belong_to_those_that_are(repository: Path) -> None:
    (repository / "train.yaml").write_text(pod("train", *[2] * 25))
    write()
    assert findings(check("--baseline", "baseline.json", "--fail-on", "warn")) == []
    (repository / "train.yaml").write_text(pod("other", *[2] * 25))
    (result,) = (one for one in check("--baseline", "baseline.json").json()["results"] if one["decision"] == "denied")
    assert result["omitted"] == {"GPS001": 5}


def test_ignored_findings_are_not_in_a_baseline(repository: Path) -> None:
    write("--ignore", "GPS001")
    assert {code for _, code, _ in findings(check("--baseline", "baseline.json"))} == {"GPS001"}


def test_errors_remain(repository: Path) -> None:
    (repository / "broken.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {")
    write()
    assert check("--baseline", "baseline.json").code == 2


def test_standard_input(repository: Path) -> None:
    manifest = pod("web", 2).encode()
    run("check", "-", "-o", "json=baseline.json", stdin=manifest)
    assert run("check", "-", "--baseline", "baseline.json", stdin=manifest).code == 0
    write()
    baseline = (repository / "baseline.json").read_bytes()
    assert run("check", "-R", "apps", "train.yaml", "--baseline", "-", stdin=baseline).code == 0
    ended = run("check", "-", "--baseline", "-")
    assert (ended.code, "standard input can be read only once" in ended.err) == (2, True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "Input data was truncated"),
        (b"[]", "Expected `object`, got `array`"),
        (b'{"kind": "Settings", "results": []}', "Invalid enum value 'Settings'"),
        (b'{"kind": "CheckReport"}', "Object missing required field `results`"),
        (b"kind: CheckReport", "JSON is malformed"),
        (b'{"kind": "CheckReport", "x": %b%b, "results": []}' % (b"[" * 200_000, b"]" * 200_000), "recursion"),
        (b'{"kind": "CheckReport", "results": [{"file": "\xff"}]}', "utf-8"),
        (
            b'{"kind": "CheckReport", "results": [{"file": "", "findings": [{"code": "a", "path": "b"}], '
            b'"object": {"apiVersion": "v1", "kind": "Pod", "namespace": "", "name": ""}}]}',
            "no path specified",
        ),
    ],
)
def test_other_file_is_no_baseline(repository: Path, text: bytes, said: str) -> None:
    (repository / "baseline.json").write_bytes(text)
    ended = check("--baseline", "baseline.json")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("baseline.json: not a report of `check -o json`: ")
    assert said in ended.err


def test_missing_baseline(repository: Path) -> None:
    ended = check("--baseline", "missing.json")
    assert (ended.code, ended.err.strip()) == (2, "missing.json: no such file or folder")


names = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n\t\x1b\x7f\u2028:#&*!|>'\"%@`{}[]"))
manifests = st.lists(st.tuples(names, st.lists(st.integers(1, 3), min_size=1, max_size=3)), min_size=1, max_size=4)


@given(manifests, st.tuples(names, st.integers(2, 3)))
@example([("N", [1])], ("", 2))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_content_round_trips(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: list[tuple[str, list[int]]], new: tuple[str, int]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "a.yaml"
    file.write_text("---\n".join(pod(name or "x", *amounts) for name, amounts in held))
    run("check", "a.yaml", "-o", "json=b.json")
    ended = run("check", "a.yaml", "--baseline", "b.json", "--fail-on", "warn", "-o", "json")
    assert (ended.code, findings(ended)) == (0, [])
    name, amount = new
    file.write_text("# moved\n" + "---\n".join([pod(f"new{name}", amount), file.read_text()]))
    if f"new{name}" not in {name for name, _ in held}:
        assert [
            (name, code) for name, code, _ in findings(run("check", "a.yaml", "--baseline", "b.json", "-o", "json"))
        ] == [(f"new{name}", "GPS001")]


def test_file_names_of_any_bytes(repository: Path) -> None:
    name = os.fsdecode(b"caf\xe9: # {a}\n.yaml")
    (repository / name).write_text(pod("web", 2))
    write()
    assert findings(check("--baseline", "baseline.json")) == []
