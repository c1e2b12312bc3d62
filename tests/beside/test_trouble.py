"""Trouble is told when it begins, when it looks different, and when it is over."""

from __future__ import annotations

from typing import Any

from webhook.beside.trouble import Trouble


class Told(list[tuple[str, str, dict[str, Any]]]):
    """Whatever was said."""

    def __call__(self, level: str, event: str, /, **fields: Any) -> None:
        self.append((level, event, fields))


def test_it_is_told_once_for_each_look_and_once_at_its_end() -> None:
    said = Told()
    trouble = Trouble(said, "it rains", "the sun shines")
    trouble.is_over()
    assert (bool(trouble), said) == (False, [])
    for error in ("a drop", "a drop", OSError("a flood"), "a drop"):
        trouble.goes_on(error)
    assert trouble
    trouble.is_over()
    trouble.is_over()
    assert not trouble
    assert said == [
        ("warning", "it rains", {"error": "a drop"}),
        ("warning", "it rains", {"error": "a flood"}),
        ("warning", "it rains", {"error": "a drop"}),
        ("info", "the sun shines", {}),
    ]
