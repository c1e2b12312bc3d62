"""Words by which bytes are known that may hold a configuration of the device plugin, before anything parses them.

They are written in any case, as the plugin reads them, and stand for YAML, for JSON and for either in a text of JSON.
"""

from __future__ import annotations

import re
from typing import Final

_COLON: Final = rb"""\\?["']?\s*:"""


def _key(name: bytes) -> re.Pattern[bytes]:
    """The key of a name in lower case, which no letter precedes but that of a line break in a text of JSON.

    The name comes first, because a search for a fixed start is fast.
    """
    return re.compile(name + rb"(?:(?<![a-z]" + name + rb")|(?<=\\n" + name + rb"))" + _COLON)


_BLOCKS: Final = [(name, _key(name)) for name in (b"sharing", b"timeslicing", b"mps")]
_FLAGS: Final = _key(b"flags")
_VERSION: Final = re.compile(_key(b"version").pattern + rb"""\s*\\?["']?v[0-9]""")


def may_be_configuration(data: bytes) -> bool:
    """Whether bytes have the fields by which a configuration is known: those of sharing, or flags and a version.

    Most manifests have none. A search for fixed words in lower case is ten times as fast as a pattern for any case.
    """
    lower = data.lower()
    if any(word in lower and key.search(lower) for word, key in _BLOCKS):
        return True
    return b"flags" in lower and _FLAGS.search(lower) is not None and _VERSION.search(lower) is not None


def seems_to_share(text: str) -> bool:
    """Whether a line of a text that is not read opens a sharing block."""
    return _BLOCK.search(text) is not None


_BLOCK: Final = re.compile(r"^[ \t]*+(?:mps|timeSlicing)[ \t]*+:", re.MULTILINE | re.IGNORECASE)
