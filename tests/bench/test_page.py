"""The page is what the committed results give."""

from __future__ import annotations

from dataclasses import replace

from bench.page import PAGE, committed, render

MOST_WORDS = 1_500


def test_page_is_what_results_give() -> None:
    assert PAGE.read_text() == render(committed())


def test_page_is_short() -> None:
    words = [line for line in PAGE.read_text().splitlines() if not line.startswith("|")]
    assert len(" ".join(words).split()) <= MOST_WORDS


def test_skipped_peer_is_shown_with_its_reason() -> None:
    shown = {name: replace(found, skipped={"a peer": "no compiler"}) for name, found in committed().items()}
    assert "a peer: no compiler" in render(shown)
