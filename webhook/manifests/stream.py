"""A stream of bytes to the texts of its YAML documents, cut where kubectl cuts it.

kubectl does not leave this to the YAML parser: `YAMLReader` in k8s.io/apimachinery `pkg/util/yaml` cuts at every line
that begins with `---`, whatever the YAML around it says, and allows only a comment after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

BOM = b"\xef\xbb\xbf"
_SEPARATOR = re.compile(rb"^---.*\n", re.MULTILINE)
_CONTENT = re.compile(rb"^[ \t]*[^\s#]", re.MULTILINE)


class Part(NamedTuple):
    """One document of a stream: its number as a reader counts, its first line, its bytes.

    `beside` is what stands next to the `---` above, if that is more than a comment; `first_line` is then that line.
    """

    number: int
    first_line: int
    data: bytes
    beside: str = ""


def normal(data: bytes) -> bytes:
    """Return a stream without byte order mark, with `\\n` after each line: kubectl adds the last one too."""
    data = data.removeprefix(BOM).replace(b"\r\n", b"\n")
    return data if data.endswith(b"\n") or not data else data + b"\n"


def parts(data: bytes, first_line: int = 1, number: int = 0) -> Iterator[Part]:
    """Yield the parts of a normal stream; `number` is that of the last document before it.

    Each `---` line begins a document, empty or not. Text above the first one is a document if it is more than comments.
    """
    heads = list(_SEPARATOR.finditer(data))
    above = data[: heads[0].start()] if heads else data
    if _CONTENT.search(above):
        number += 1
        yield Part(number, first_line, above)
    line = first_line + above.count(b"\n")
    ends = [head.start() for head in heads[1:]] + [len(data)]
    for head, end in zip(heads, ends, strict=False):
        number += 1
        body = data[head.end() : end]
        beside = head[0][3:].strip()
        if beside and not beside.startswith(b"#"):
            yield Part(number, line, body, beside.decode("utf-8", "replace"))
        elif body:
            yield Part(number, line + 1, body)
        line += 1 + body.count(b"\n")
