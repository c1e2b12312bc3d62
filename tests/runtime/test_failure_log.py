"""Trouble is told when it begins, when it looks different, and when it is over."""

from __future__ import annotations

from typing import Any

from webhook.runtime.failure_log import FailureLog


class Told(list[tuple[str, str, dict[str, Any]]]):
    """Whatever was said."""

    def __call__(self, level: str, event: str, /, **fields: Any) -> None:
        self.append((level, event, fields))


def test_error_is_printable_and_short() -> None:
    said = Told()
    FailureLog(said, "it rains", "the sun shines").report("\x1b[31m\n" + "w" * 10**6)
    ((_, _, fields),) = said
    assert fields["error"].startswith("?[31m?www")
    assert len(fields["error"]) == 600


def test_it_is_told_once_for_each_look_and_once_at_its_end() -> None:
    said = Told()
    trouble = FailureLog(said, "it rains", "the sun shines")
    trouble.recover()
    assert (bool(trouble), said) == (False, [])
    for error in ("a drop", "a drop", OSError("a flood"), "a drop"):
        trouble.report(error)
    assert trouble
    trouble.recover()
    trouble.recover()
    assert not trouble
    assert said == [
        ("warning", "it rains", {"error": "a drop"}),
        ("warning", "it rains", {"error": "a flood"}),
        ("warning", "it rains", {"error": "a drop"}),
        ("info", "the sun shines", {}),
    ]
