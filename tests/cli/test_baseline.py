"""Baselines: what they hold, what they suppress, and what no longer occurs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.cli.run import Ended, run
from tests.linear import assert_linear
from webhook.dryrun.baseline import load
from webhook.dryrun.files import parse

GOLDEN = Path(__file__).parent / "data" / "baseline.yaml"


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
    return run("check", "-R", ".", "-o", "json", "--exclude", "baseline.yaml", *options)


def test_written_baseline_is_golden(repository: Path) -> None:
    ended = run("check", "-R", ".", "--write-baseline", "baseline.yaml")
    assert ended.code == 0
    assert ended.out.splitlines()[-2:] == [
        "5 findings written to baseline.yaml, which the cluster does not read",
        "3 objects: 3 allowed",
    ]
    assert (repository / "baseline.yaml").read_text() == GOLDEN.read_text()


def test_run_with_baseline_reports_nothing(repository: Path) -> None:
    assert check().code == 1
    check("--write-baseline", "baseline.yaml")
    ended = check("--baseline", "baseline.yaml", "--fail-on", "warn")
    assert (ended.code, findings(ended)) == (0, [])
    assert ended.json()["suppressed"] == {"baseline": 5}
    assert ended.json()["baseline"] == {"file": "baseline.yaml", "written": False, "stale": []}
    assert (
        "5 findings suppressed by baseline.yaml"
        in run("check", "apps/", "train.yaml", "--baseline", "baseline.yaml").out
    )


@pytest.mark.parametrize("amount", [2, 30])
def test_another_amount_at_the_same_place_is_reported(repository: Path, amount: int) -> None:
    check("--write-baseline", "baseline.yaml")
    (repository / "train.yaml").write_text(pod("train", amount))
    ended = check("--baseline", "baseline.yaml")
    assert [name for name, _, _ in findings(ended)] == ["train"]
    assert [entry["value"] for entry in ended.json()["baseline"]["stale"]] == ["3"]


def test_working_directory_does_not_matter(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check("--write-baseline", "baseline.yaml")
    monkeypatch.chdir(repository / "apps")
    assert findings(run("check", "web.yaml", "../train.yaml", "-o", "json", "--baseline", "../baseline.yaml")) == []
    assert findings(run("check", repository / "train.yaml", "-o", "json", "--baseline", "../baseline.yaml")) == []


def test_same_object_in_another_file_is_reported(repository: Path) -> None:
    check("--write-baseline", "baseline.yaml")
    (repository / "copy.yaml").write_text((repository / "train.yaml").read_text())
    assert len(findings(check("--baseline", "baseline.yaml"))) == 1


def test_counted_findings_are_suppressed_as_often_as_counted(repository: Path) -> None:
    (repository / "train.yaml").write_text(f"{pod('train', 3)}---\n{pod('train', 3)}")
    check("--write-baseline", "baseline.yaml")
    assert findings(check("--baseline", "baseline.yaml")) == []
    (repository / "train.yaml").write_text("---\n".join([pod("train", 3)] * 3))
    assert len(findings(check("--baseline", "baseline.yaml"))) == 1


def test_findings_that_are_not_listed_count(repository: Path) -> None:
    (repository / "train.yaml").write_text(pod("train", *[2] * 25))
    check("--write-baseline", "baseline.yaml")
    entries = yaml.safe_load((repository / "baseline.yaml").read_text())["findings"]
    assert [entry["further"] for entry in entries if "further" in entry] == [5]
    assert findings(check("--baseline", "baseline.yaml")) == []
    (repository / "train.yaml").write_text(pod("train", *[2] * 26))
    (result,) = (one for one in check("--baseline", "baseline.yaml").json()["results"] if one["decision"] == "denied")
    assert result["omitted"] == {"GPS001": 1}


def test_stale_entries_are_counted(repository: Path) -> None:
    check("--write-baseline", "baseline.yaml")
    (repository / "train.yaml").write_text(pod("train", 1))
    (repository / "apps" / "web.yaml").unlink()
    out = run("check", ".", "--exclude", "baseline.yaml", "--baseline", "baseline.yaml").out
    assert "5 entries of baseline.yaml no longer occur; write the baseline again\n" in out


def test_what_a_run_does_not_check_is_not_stale(repository: Path) -> None:
    """Such as a hook that checks only the files of a commit."""
    check("--write-baseline", "baseline.yaml")

    def stale(*arguments: object) -> Any:
        return run("check", *arguments, "-o", "json", "--baseline", "baseline.yaml").json()["baseline"]["stale"]

    assert stale("train.yaml") == []
    assert stale("train.yaml", "apps", "--ignore", "GPS001,GPS002") == []
    (repository / "train.yaml").write_text(f"{pod('fixed', 1)}---\n{{")
    assert stale("train.yaml") == []


def test_ignored_and_suppressed_findings_are_not_written(repository: Path) -> None:
    check("--write-baseline", "baseline.yaml", "--ignore", "GPS001")
    entries = yaml.safe_load((repository / "baseline.yaml").read_text())["findings"]
    assert {entry["code"] for entry in entries} == {"GPS002"}


def test_baseline_is_not_written_when_an_input_has_errors(repository: Path) -> None:
    (repository / "baseline.yaml").write_text("as it was")
    (repository / "broken.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {")
    ended = check("--write-baseline", "baseline.yaml")
    assert ended.code == 2
    assert "baseline.yaml: not written" in ended.err
    assert (repository / "baseline.yaml").read_text() == "as it was"


def test_exit_code_after_writing_follows_from_what_remains(repository: Path) -> None:
    (repository / "map.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: m}}")
    assert check("--write-baseline", "baseline.yaml").code == 0
    assert check("--write-baseline", "baseline.yaml", "--fail-on", "warn").code == 0
    assert check("--write-baseline", "baseline.yaml", "--fail-on", "skipped").code == 1


def test_standard_input(repository: Path) -> None:
    manifest = pod("web", 2).encode()
    run("check", "-", "--write-baseline", "baseline.yaml", stdin=manifest)
    assert "file: <stdin>" in (repository / "baseline.yaml").read_text()
    assert run("check", "-", "--baseline", "baseline.yaml", stdin=manifest).code == 0
    check("--write-baseline", "baseline.yaml")
    baseline = (repository / "baseline.yaml").read_bytes()
    assert run("check", "-R", "apps", "train.yaml", "--baseline", "-", stdin=baseline).code == 0
    ended = run("check", "-", "--baseline", "-")
    assert (ended.code, "standard input can be read only once" in ended.err) == (2, True)


HEADER = "apiVersion: gpushare-webhook/v1\nkind: Baseline\n"
WRONG = HEADER + "findings:\n- {file: a.yaml, kind: Pod, code: GPS001, path: /spec}\n- "


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("{file: a.yaml, kind: Pod, code: GPS001, path: /a, lines: 3}", "5:3: findings[1]: Object contains unknown"),
        ("{kind: Pod, code: GPS001, path: /spec}", "5:3: findings[1]: Object missing required field `file`"),
        ("{file: a.yaml, kind: Pod, code: GPS001}", "5:3: findings[1]: must have either path or further"),
        ("{file: a.yaml, kind: Pod, code: GPS001, path: /a, further: 1}", "findings[1]: must have either path or"),
        ("{file: a, kind: Pod, code: A, path: /, value: 2}", "5:49: findings[1].value: Expected `str`, got `int`"),
        ("{file: a, kind: Pod, code: A, path: /, count: 0}", "5:49: findings[1].count: Expected `int` >= 1"),
        ("{file: a, kind: Pod, code: A, further: true}", "findings[1].further: Expected `int | null`, got `bool`"),
        ("text", "5:3: findings[1]: Expected `object`, got `str`"),
    ],
)
def test_wrong_baseline_is_reported_with_its_place(repository: Path, wrong: str, said: str) -> None:
    (repository / "baseline.yaml").write_text(f"{WRONG}{wrong}\n")
    ended = check("--baseline", "baseline.yaml")
    assert (ended.code, said in ended.err) == (2, True), ended.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no baseline: Expected `object`, got `null`"),
        ("[]", "no baseline: Expected `object`, got `array`"),
        ("apiVersion: gpushare-webhook/v1\nkind: Settings\n", "baseline.yaml:2:7: kind: Invalid enum value 'Settings'"),
        ("apiVersion: gpushare-webhook/v2\nkind: Baseline\n", "apiVersion: Invalid enum value"),
        ("apiVersion: gpushare-webhook/v1\nkind: Baseline\n", "no baseline: Object missing required field `findings`"),
        ("findings: [\n", "baseline.yaml:2:1: "),
        ("a: 1\n---\nb: 1\n", "a second document"),
    ],
)
def test_other_file_is_no_baseline(repository: Path, text: str, said: str) -> None:
    (repository / "baseline.yaml").write_text(text)
    ended = check("--baseline", "baseline.yaml")
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_missing_baseline_and_both_options(repository: Path) -> None:
    ended = check("--baseline", "missing.yaml")
    assert (ended.code, ended.err.strip()) == (2, "missing.yaml: no such file or folder")
    ended = check("--baseline", "a.yaml", "--write-baseline", "a.yaml")
    assert (ended.code, "leave out --baseline" in ended.err) == (2, True)


def test_entries_that_a_merge_repeats_count_once(repository: Path) -> None:
    check("--write-baseline", "baseline.yaml")
    text = (repository / "baseline.yaml").read_text()
    (repository / "baseline.yaml").write_text(text + text.partition("findings:\n")[2])
    (repository / "train.yaml").write_text(f"{pod('train', 3)}---\n{pod('train', 3)}")
    assert len(findings(check("--baseline", "baseline.yaml"))) == 1


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
    run("check", "a.yaml", "--write-baseline", "b.yaml")
    ended = run("check", "a.yaml", "--baseline", "b.yaml", "--fail-on", "warn", "-o", "json")
    assert (ended.code, findings(ended), ended.json()["baseline"]["stale"]) == (0, [], [])
    name, amount = new
    file.write_text("# moved\n" + "---\n".join([pod(f"new{name}", amount), file.read_text()]))
    if f"new{name}" not in {name for name, _ in held}:
        assert [
            (name, code) for name, code, _ in findings(run("check", "a.yaml", "--baseline", "b.yaml", "-o", "json"))
        ] == [(f"new{name}", "GPS001")]


def test_file_names_of_any_bytes(repository: Path) -> None:
    name = os.fsdecode(b"caf\xe9: # {a}\n.yaml")
    (repository / name).write_text(pod("web", 2))
    check("--write-baseline", "baseline.yaml")
    assert findings(check("--baseline", "baseline.yaml")) == []


@pytest.mark.parametrize("name", ["n" * 300, "gone.yaml", "train.yaml/part", "nul\0"])
def test_entry_of_impossible_file_is_stale(repository: Path, name: str) -> None:
    entry = {"file": name, "kind": "Pod", "code": "GPS001", "path": "/spec"}
    Path("baseline.yaml").write_text(
        yaml.safe_dump({"apiVersion": "gpushare-webhook/v1", "kind": "Baseline", "findings": [entry]})
    )
    ended = check("--baseline", "baseline.yaml")
    assert ended.code == 1, ended.err
    assert len(ended.json()["baseline"]["stale"]) == 1


def test_time_is_linear_in_entries() -> None:
    # Longer than the lines whose entries the reader keeps: else the smaller text is read from its cache.
    folder = 500 * "a"
    entry = f"- {{{{file: {folder}{{0}}.yaml, kind: Pod, name: p{{0}}, code: GPS001, path: /spec, value: '2'}}}}\n"

    def prepared(size: int) -> Callable[[], object]:
        text = "apiVersion: gpushare-webhook/v1\nkind: Baseline\nfindings:\n" + "".join(map(entry.format, range(size)))
        return lambda: parse("baseline.yaml", text.encode(), load)

    assert_linear(prepared, 50, 5000)
