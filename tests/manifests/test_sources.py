"""Files, folders and standard input."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from tests.manifests.repositories import unexpected
from webhook.diagnostics import Diagnostic, Unread
from webhook.manifests import Builds, Source, in_sections, sources
from webhook.manifests.files import LARGEST, read_file


def found(paths: list[str]) -> list[tuple[str, bytes] | Diagnostic | Unread]:
    given = sources(paths, io.BytesIO(), unexpected, reading=in_sections)
    return [(one.file, one.data) if isinstance(one, Source) else one for one in given if not isinstance(one, Builds)]


def test_files_keep_order_and_need_no_extension(tmp_path: Path) -> None:
    for name in ("b.txt", "a.yaml"):
        (tmp_path / name).write_bytes(name.encode())
    paths = [str(tmp_path / "b.txt"), str(tmp_path / "a.yaml")]
    assert found(paths) == [(paths[0], b"b.txt"), (paths[1], b"a.yaml")]


def test_folder_without_manifests_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_bytes(b"x")
    message = "no .json, .jsonl, .ndjson, .yaml or .yml file in this folder"
    assert found([str(tmp_path)]) == [Diagnostic(str(tmp_path), 0, 0, message)]


def test_file_that_becomes_a_pipe_or_a_device_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert read_file(str(tmp_path / "pipe")) == Diagnostic(str(tmp_path / "pipe"), 0, 0, "not a regular file")
    (tmp_path / "device").symlink_to("/dev/zero")
    assert read_file(str(tmp_path / "device")) == Diagnostic(str(tmp_path / "device"), 0, 0, "not a regular file")


def test_link_to_itself_and_impossible_names(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").symlink_to("a.yaml")
    (loop,) = found([str(tmp_path / "a.yaml")])
    assert loop == Diagnostic(str(tmp_path / "a.yaml"), 0, 0, "too many levels of symbolic links")
    (odd,) = found(["a\0b"])
    assert isinstance(odd, Diagnostic)
    assert "null" in odd.message
    (empty,) = found([str(tmp_path / ("x" * 300))])
    assert isinstance(empty, Diagnostic)
    assert empty.message == "file name too long"


def test_file_over_size_limit(tmp_path: Path) -> None:
    large = tmp_path / "a.yaml"
    with large.open("wb") as file:
        file.truncate(LARGEST + 1)
    assert found([str(large)]) == [
        Diagnostic(str(large), 1, 1, "a document larger than 64 MiB; split it, for example by namespace")
    ]
    assert found([str(tmp_path)]) == [
        Diagnostic(str(large), 0, 0, "larger than 64 MiB; split it, for example by namespace")
    ]
    with large.open("r+b") as file:
        file.write(b"{")
    assert found([str(large)]) == [
        Diagnostic(str(large), 0, 0, "larger than 64 MiB; split it, for example by namespace")
    ]


def test_undecodable_file_name(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.yaml")
    Path(path).write_bytes(b"x")
    ((name, data),) = (i for i in found([path]) if isinstance(i, tuple))
    assert (name, data) == (f"{tmp_path}/\ufffd.yaml", b"x")


def test_file_without_read_permission(tmp_path: Path) -> None:
    # Root reads everything, so a stream that refuses stands for it.
    class Refusing(io.BytesIO):
        def read(self, *_: int | None) -> bytes:
            raise PermissionError(13, "Permission denied")

    assert list(sources(["-"], Refusing(), unexpected)) == [Diagnostic("<stdin>", 0, 0, "permission denied")]


def test_file_that_cannot_be_examined_does_not_end_the_folder(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").symlink_to("x" * 300)
    (tmp_path / "b.yaml").write_bytes(b"b")
    unexamined = Diagnostic(str(tmp_path / "a.yaml"), 0, 0, "file name too long")
    assert found([str(tmp_path)]) == [unexamined, (str(tmp_path / "b.yaml"), b"b")]


@pytest.mark.parametrize("stated", [0, 1, 999, 1001, LARGEST + 1])
def test_file_whose_size_changes_is_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stated: int
) -> None:
    """The size that the system states before the file grows or shrinks; files of /proc state 0."""
    file = tmp_path / "a.yaml"
    file.write_bytes(b"x" * 1000)
    monkeypatch.setattr("os.fstat", lambda _: os.stat_result((0o100644, 0, 0, 1, 0, 0, stated, 0, 0, 0)))
    assert read_file(str(file)) == b"x" * 1000
