"""Comments that ignore findings: what `check` reports with and without them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import Ended, run
from tests.linear import assert_linear
from tests.manifests.reading import read
from webhook.manifests import Manifest

ALLOWED = "suppress: {comments: true}\n"

POD = """\
{head}apiVersion: v1
kind: Pod
metadata: {{name: legacy}}
spec:
  hostPID: true {grace}
  containers:
  - name: train
    resources:
      limits:
        {above}
        nvidia.com/gpu: 2 {beside}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "settings.yaml").write_text(ALLOWED)
    return tmp_path


def check(manifest: str, *options: str, config: str = "settings.yaml") -> Ended:
    Path("pod.yaml").write_text(manifest)
    return run("check", "pod.yaml", "--config", config, "-o", "json", *options)


def pod(**comments: str) -> str:
    places = dict.fromkeys(("head", "grace", "above", "beside"), "") | comments
    return POD.format(
        **{key: f"# gpushare-webhook: ignore {one}" if one else "#" for key, one in places.items()}
        | ({"head": f"# gpushare-webhook: ignore {comments['head']}\n" if "head" in comments else ""})
    )


def result(ended: Ended) -> Any:
    (only,) = ended.json()["results"]
    return only


def codes(ended: Ended) -> list[str]:
    return [finding["code"] for finding in result(ended)["findings"]]


@pytest.mark.parametrize(
    ("comments", "left", "decision"),
    [
        ({}, ["GPS001", "GPS009"], "denied"),
        ({"beside": "GPS001"}, ["GPS009"], "warned"),
        ({"above": "gps001"}, ["GPS009"], "warned"),
        ({"grace": "GPS009"}, ["GPS001"], "denied"),
        ({"head": "GPS001, GPS009"}, [], "allowed"),
        ({"head": "GPS001 - until the new nodes arrive"}, ["GPS009"], "warned"),
        ({"above": "GPS009"}, ["GPS001", "GPS009"], "denied"),
        ({"beside": "GPS009"}, ["GPS001", "GPS009"], "denied"),
        ({"beside": ""}, ["GPS001", "GPS009"], "denied"),
    ],
)
def test_comment_suppresses_its_codes(folder: Path, comments: dict[str, str], left: list[str], decision: str) -> None:
    ended = check(pod(**comments))
    assert (codes(ended), result(ended)["decision"]) == (left, decision)


def test_suppressed_finding_is_reported_with_reason(folder: Path) -> None:
    ended = check(pod(beside="GPS001 -- the new nodes arrive in May"))
    (suppressed,) = result(ended)["suppressed"]
    assert (suppressed["code"], suppressed["line"], suppressed["by"]) == ("GPS001", 11, "comment")
    assert suppressed["reason"] == "the new nodes arrive in May"
    assert ended.json()["suppressed"] == {"comment": 1}
    said = run("check", "pod.yaml", "--config", "settings.yaml").out
    assert "1 finding suppressed by comments, which the cluster does not read\n" in said


@pytest.mark.parametrize(
    ("comments", "line", "said"),
    [
        ({"beside": "GPS01"}, 11, 'the comment ignores "GPS01", which is not a check'),
        ({"beside": "GPS001\u200bGPS002"}, 11, '"GPS001?GPS002", which is not a check'),
        ({"beside": " - just because"}, 11, "the comment names no check; name one, such as GPS001"),
        ({"beside": "all"}, 11, '"ALL", which is not a check'),
    ],
)
def test_comment_without_effect_is_reported(folder: Path, comments: dict[str, str], line: int, said: str) -> None:
    notes = result(check(pod(**comments)))["notes"]
    assert [note["line"] for note in notes] == [line]
    assert said in notes[0]["message"]
    assert f"pod.yaml:{line}:" in run("check", "pod.yaml", "--config", "settings.yaml").out


def test_comments_suppress_nothing_unless_settings_allow_it(folder: Path) -> None:
    (folder / "off.yaml").write_text("suppress: {comments: false}\n")
    ended = check(pod(head="GPS001"), config="off.yaml")
    assert (ended.code, codes(ended)) == (1, ["GPS001", "GPS009"])
    (note,) = result(ended)["notes"]
    assert note["message"] == "the comment suppresses nothing: suppress.comments is off in the settings"


def test_comment_suppresses_findings_that_are_not_listed(folder: Path) -> None:
    containers = "".join(f"  - {{name: c{n}, resources: {{limits: {{nvidia.com/gpu: 2}}}}}}\n" for n in range(25))
    head = "# gpushare-webhook: ignore GPS001,GPS002\napiVersion: v1\nkind: Pod\nmetadata: {name: many}\n"
    ended = check(f"{head}spec:\n  containers:\n{containers}")
    assert (codes(ended), result(ended).get("omitted"), ended.code) == ([], None, 0)
    assert ended.json()["suppressed"] == {"comment": 26}


def test_comment_suppresses_comparison_of_users(folder: Path) -> None:
    one, other = (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{{{name: p{user}}}}}\nspec:\n  securityContext:\n"
        f"    runAsUser: {user}{{}}\n"
        "  containers: [{{name: c, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}]\n"
        for user in (1, 2)
    )
    plain = check(f"{one.format('')}---\n{other.format('')}")
    assert [len(one["findings"]) for one in plain.json()["results"]] == [0, 1]
    ignored = check(f"{one.format('')}---\n{other.format(' # gpushare-webhook: ignore GPS008')}")
    assert [len(one["findings"]) for one in ignored.json()["results"]] == [0, 0]


def test_mutate_ignores_comments(folder: Path) -> None:
    Path("pod.yaml").write_text(pod(head="GPS001"))
    assert run("mutate", "-f", "pod.yaml", "--config", "settings.yaml").code == 1


def test_notes_of_one_object_are_bounded(folder: Path) -> None:
    notes = result(check("# gpushare-webhook: ignore all\n" * 1000 + pod()))["notes"]
    assert len(notes) == 21
    assert notes[-1]["message"] == "and 980 more notes about comments of this object"


def test_time_is_linear_in_comments() -> None:
    def prepared(size: int) -> Any:
        items = "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}} # gpushare-webhook: ignore GPS001\n" * size
        data = f"apiVersion: v1\nkind: List\nitems:\n{items}{'# gpushare-webhook: ignore GPS001' * size}\n".encode()
        return lambda: [len(one.comments) for one in read("a.yaml", data) if isinstance(one, Manifest)]

    assert_linear(prepared, 50, 2000)


def test_suppressed_denial_does_not_count_beside_findings_that_are_not_listed(folder: Path) -> None:
    many = "".join(
        f"    - name: c{number}\n      env: [{{name: NVIDIA_VISIBLE_DEVICES, value: all}}]\n" for number in range(150)
    )
    first = "    - name: c\n      resources: {limits: {nvidia.com/gpu: 2}}  # gpushare-webhook: ignore GPS001\n"
    manifest = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec:\n  containers:\n{first}{many}"
    Path("settings.yaml").write_text("suppress: {comments: true}")
    ended = check(manifest, config="settings.yaml")
    assert (ended.code, result(ended)["decision"]) == (0, "warned")
    assert result(ended)["omitted"]
