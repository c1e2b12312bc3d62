"""Errors about a kubeconfig: they name the file and the context, and say what to do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from webhook.cluster.client import ClusterError, connect
from webhook.cluster.kubeconfig import KubeconfigError, contexts, location, verify

REMEDY = "pass a kubeconfig that kubectl accepts with --kubeconfig or KUBECONFIG"


def kubeconfig(file: Path, *names: str, current: str | None = None) -> str:
    content: dict[str, Any] = {
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in names],
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}.example.com"}} for name in names],
        "users": [{"name": name, "user": {}} for name in names],
    }
    if current is not None:
        content["current-context"] = current
    file.write_text(yaml.safe_dump(content))
    return str(file)


@pytest.fixture
def two(tmp_path: Path) -> str:
    return kubeconfig(tmp_path / "two", "prod", "test", current="prod")


def problem(files: str, context: str | None) -> str:
    with pytest.raises(KubeconfigError) as caught:
        verify(files, context)
    (line,) = str(caught.value).splitlines()
    return line


def test_missing_file(tmp_path: Path) -> None:
    assert problem(f"{tmp_path}/missing", None) == f"{tmp_path}/missing: no such file; {REMEDY}"


def test_folder(tmp_path: Path) -> None:
    assert problem(str(tmp_path), None) == f"{tmp_path}: is a directory; {REMEDY}"


@pytest.mark.parametrize(
    "content",
    [
        "{a: [",
        "",
        "[1]",
        "contexts: [a]",
        "contexts: [{name: 1}]",
        "current-context: 1",
        "[" * 5000,
        "\0",
        f"a: {'[' * 100_000}{']' * 100_000}",
    ],
)
def test_other_content(tmp_path: Path, content: str) -> None:
    (tmp_path / "file").write_text(content)
    assert problem(str(tmp_path / "file"), None) == f"{tmp_path}/file: not a kubeconfig; {REMEDY}"


def test_unknown_context_lists_contexts(two: str) -> None:
    assert problem(two, "nope") == f'{two}: there is no context "nope"; the contexts are "prod", "test"'


def test_misspelled_context_suggests_nearest(two: str) -> None:
    assert problem(two, "prdo") == f'{two}: there is no context "prdo"; did you mean "prod"?'


def test_many_contexts_are_counted(tmp_path: Path) -> None:
    file = kubeconfig(tmp_path / "many", *(f"c{number}" for number in range(30)))
    assert problem(file, "nope").endswith('"c6", "c7" and 22 more')


@pytest.mark.parametrize("current", [None, ""])
def test_missing_current_context(tmp_path: Path, current: str | None) -> None:
    file = kubeconfig(tmp_path / "file", "prod", current=current)
    assert problem(file, None) == f'{file}: no current context is set; name one with --context: "prod"'


def test_kubeconfig_without_contexts(tmp_path: Path) -> None:
    file = kubeconfig(tmp_path / "file", current="x")
    assert problem(file, None) == f'{file}: there is no context "x"; {REMEDY}'


def test_current_context_that_is_not_listed(tmp_path: Path) -> None:
    file = kubeconfig(tmp_path / "file", "prod", current="gone")
    assert problem(file, None) == f'{file}: there is no context "gone"; the contexts are "prod"'


def test_several_files_are_one_kubeconfig(tmp_path: Path, two: str) -> None:
    third = kubeconfig(tmp_path / "third", "dev")
    files = os.pathsep.join([str(tmp_path / "missing"), two, third])
    assert contexts(files) == ["prod", "test", "dev"]
    verify(files, "dev")
    verify(files, None)


def test_location_follows_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBECONFIG", "a:b")
    assert location() == "a:b"
    monkeypatch.delenv("KUBECONFIG")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert location() == f"{tmp_path}/.kube/config"


@pytest.mark.parametrize("context", [None, "test"])
async def test_connect_accepts_what_verify_accepts(two: str, context: str | None) -> None:
    verify(two, context)
    await (await connect(two, context)).close()


async def test_connect_reports_context(two: str) -> None:
    with pytest.raises(ClusterError, match=r'^cannot connect: .*/two: there is no context "nope"; the contexts are'):
        await connect(two, "nope")
