"""Lines that fit a width and break between words alone."""

from __future__ import annotations

from textwrap import wrap


def wrapped(text: str, width: int, *, before: str = "", after: str = "") -> str:
    """Return the text with lines of at most `width` columns; a longer word stands alone on a longer line.

    The first line begins with `before`, the others with `after`.
    """
    lines = wrap(
        text,
        max(width, 1),
        initial_indent=before,
        subsequent_indent=after,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines)
