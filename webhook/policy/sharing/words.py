"""Words by which bytes are known that may hold a configuration of the device plugin, before anything parses them.

They are written in any case, as the plugin reads them, and stand for YAML, for JSON and for either in a text of JSON.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

_COLON: Final = rb"""\\?["']?\s*:"""


@cache
def _key(name: bytes) -> re.Pattern[bytes]:
    """The key of a name in lower case, which no letter precedes but that of a line break in a text of JSON.

    The name comes first, because a search for a fixed start is fast. Most runs need no such pattern.
    """
    return re.compile(name + rb"(?:(?<![a-z]" + name + rb")|(?<=\\n" + name + rb"))" + _COLON)


_BLOCKS: Final = (b"sharing", b"timeslicing", b"mps")


def may_be_configuration(data: bytes) -> bool:
    """Whether bytes have the fields by which a configuration is known: those of sharing, or flags and a version.

    Most manifests have none. A search for fixed words in lower case is ten times as fast as a pattern for any case.
    """
    lower = data.lower()
    if any(name in lower and _key(name).search(lower) for name in _BLOCKS):
        return True
    return b"flags" in lower and _key(b"flags").search(lower) is not None and _has_version(lower)


def _has_version(lower: bytes) -> bool:
    return re.search(_key(b"version").pattern + rb"""\s*\\?["']?v[0-9]""", lower) is not None


def seems_to_share(text: str) -> bool:
    """Whether a line of a text that is not read opens a sharing block."""
    return re.search(r"^[ \t]*+(?:mps|timeSlicing)[ \t]*+:", text, re.MULTILINE | re.IGNORECASE) is not None
