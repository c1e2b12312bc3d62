"""Results are remembered for short text only, so that no tenant's long text is kept."""

from __future__ import annotations

from webhook.policy.memo import LONGEST, memo


def test_short_text_is_computed_once() -> None:
    computed: list[str] = []

    @memo(4)
    def length(text: str) -> int:
        computed.append(text)
        return len(text)

    assert [length("a"), length("a"), length("bb")] == [1, 1, 2]
    assert computed == ["a", "bb"]


def test_long_text_is_computed_each_time() -> None:
    computed: list[int] = []

    @memo(4)
    def upper(text: str) -> str:
        computed.append(len(text))
        return text.upper()

    for size in (LONGEST, LONGEST + 1):
        assert [upper("x" * size), upper("x" * size)] == ["X" * size] * 2
    assert computed == [LONGEST, LONGEST + 1, LONGEST + 1]


def test_wrapped_function_keeps_its_name() -> None:
    @memo(4)
    def parsed(text: str) -> str:
        return text

    assert parsed.__name__ == "parsed"
