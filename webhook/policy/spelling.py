"""Spelling: whether one name is probably another one with a typo."""

from __future__ import annotations


def is_one_edit_away(left: str, right: str) -> bool:
    """Whether inserting, removing, replacing or swapping one letter turns one into the other."""
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    left, right = left[start:], right[start:]
    swapped = len(left) >= 2 and left[1::-1] + left[2:] == right
    return swapped or left[1:] == right[1:] or left[1:] == right or left == right[1:]
