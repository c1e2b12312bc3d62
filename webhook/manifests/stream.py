"""Split a stream of bytes into the texts of its YAML documents, as kubectl does.

kubectl does not leave this to the YAML parser: `YAMLReader` in k8s.io/apimachinery `pkg/util/yaml` splits at every line
that begins with `---`, whatever the YAML around it means, and allows only a comment after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

BOM = b"\xef\xbb\xbf"
_SEPARATOR = re.compile(rb"^---.*\n", re.MULTILINE)
# In YAML a comment also ends at a carriage return and at a line break of Unicode.
_CONTENT = re.compile(rb"(?:^|\r|\xc2\x85|\xe2\x80[\xa8\xa9])[ \t]*[^\s#]", re.MULTILINE)


class Part(NamedTuple):
    """One document of a stream: its number, counted from 1, its first line, its bytes.

    `beside` is the text after the `---` above, unless it is a space and a comment; `first_line` is then that line.
    """

    number: int
    first_line: int
    data: bytes
    beside: str = ""


def normal(data: bytes) -> bytes:
    """Return a stream without byte order mark, with `\\n` after every line. kubectl also adds the last one."""
    data = data.removeprefix(BOM).replace(b"\r\n", b"\n")
    return data if data.endswith(b"\n") or not data else data + b"\n"


def parts(data: bytes, first_line: int = 1, number: int = 0) -> Iterator[Part]:
    """Yield the parts of a normal stream; `number` is that of the last document before the stream.

    Each `---` line begins a document, empty or not. Text above the first such line is a document unless it is comments.
    """
    head, start, line = b"", 0, first_line
    for found in chain(_SEPARATOR.finditer(data), (None,)):
        body = data[start : found.start() if found else len(data)]
        if head or _CONTENT.search(body):
            number += 1
        beside = head[3:].strip()
        # kubectl takes `---#` for a separator after a document and for text at the start; to YAML it is always text.
        if beside and (head[3:4] == b"#" or not beside.startswith(b"#")):
            yield Part(number, line - 1, body, beside.decode("utf-8", "replace"))
        elif body:
            yield Part(number, line, body)
        if found:
            head, start, line = found[0], found.end(), line + body.count(b"\n") + 1
