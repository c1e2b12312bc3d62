"""Descriptions of checks and injections: their parts, and the addresses of sources."""

from __future__ import annotations

import pytest

from webhook.policy.description import address, parts, title

DESCRIPTION = """The title.

Reads: `env` of
containers.

Why: the first paragraph: with a colon.

The second one.

Remedy: none.
"""


def test_parts_and_title() -> None:
    assert title(DESCRIPTION) == "The title"
    assert dict(parts(DESCRIPTION)) == {
        "Reads": ("`env` of containers.",),
        "Why": ("The first paragraph: with a colon.", "The second one."),
        "Remedy": ("None.",),
    }


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("kubernetes/kubernetes#1", "https://github.com/kubernetes/kubernetes/issues/1"),
        ("NVIDIA/nccl:src/init.cc", "https://github.com/NVIDIA/nccl/blob/HEAD/src/init.cc"),
        ("https://kubernetes.io/docs/#a", "https://kubernetes.io/docs/#a"),
    ],
)
def test_address_of_source(source: str, expected: str) -> None:
    assert address(source) == expected
