"""A JSON value as a text of YAML or JSON in any style: block and flow, quotes, comments, indents, blank lines."""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import strategies as st

_WORDS_WITH_MEANING = ("yes", "no", "true", "false", "null", "y", "n", "on", "off")


@st.composite
def styled(draw: st.DrawFn, value: Any) -> str:
    """A text for the value, whose lines end with a line feed."""
    return _document(draw(st.randoms(use_true_random=False)), value)


def _document(random: Random, value: Any) -> str:
    match random.randrange(10):
        case 0:
            return json.dumps(value, indent=random.choice([None, 2, 4, "\t"])) + "\n"
        case 1:
            return _Style(random, 2, 0).flow(value, 0) + "\n"
        case _:
            step = random.choice([2, 2, 2, 4, 3])
            return _Style(random, step, random.choice([0, 0, 2, step])).block(value, 0)


@dataclass(frozen=True, slots=True)
class _Style:
    """How a text is written: the indents of mappings and of lists, and chance for all else."""

    random: Random
    step: int
    list_step: int

    def block(self, value: Any, indent: int) -> str:
        """Return the lines of a collection with entries, without the indent of the first one."""
        if isinstance(value, dict):
            entries = [self._entry(f"{self._scalar(key)}:", one, indent) for key, one in value.items()]
        else:
            entries = [self._element(one, indent) for one in value]
        return (" " * indent).join(entries)

    def _entry(self, head: str, value: Any, indent: int) -> str:
        if isinstance(value, dict | list) and value and self._likely(8):
            inner = indent + (self.step if isinstance(value, dict) else self.list_step)
            anchor = f" &a{self.random.randrange(10**6)}" if self._likely(1) else ""
            return f"{head}{anchor}{self._line_end()}{' ' * inner}{self.block(value, inner)}{self._comment(indent)}"
        if isinstance(value, str) and value and value.strip() == value and self._likely(3):
            blank = self.random.choice(["", "\n"])
            return f"{head} {self.random.choice(['|', '>'])}-\n{' ' * (indent + self.step)}{value}\n{blank}"
        if value is None and self._likely(6):
            return head + self._line_end()
        return f"{head} {self.flow(value, indent + 1)}{self._line_end()}{self._comment(indent)}"

    def _element(self, value: Any, indent: int) -> str:
        if not isinstance(value, dict | list) or not value or self._likely(2):
            return f"- {self.flow(value, indent + 1)}{self._line_end()}{self._comment(indent)}"
        gap = self.random.choice([1, 1, 1, 3])
        if self._likely(1):
            end = self._line_end().replace("\t", " ")  # libyaml rejects a tab right after a dash
            return f"-{end}{' ' * (indent + gap)}{self.block(value, indent + gap)}"
        return f"-{' ' * gap}{self.block(value, indent + 1 + gap)}{self._comment(indent)}"

    def flow(self, value: Any, indent: int) -> str:
        """Return a value in flow style, with line breaks in some collections."""
        if not isinstance(value, dict | list):
            return self._scalar(value)
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        if isinstance(value, dict):
            entries = [self._flow_entry(key, one, indent + 2) for key, one in value.items()]
        else:
            entries = [self.flow(one, indent + 2) for one in value]
        if not entries:
            return opening + self.random.choice(["", " "]) + closing
        if not self._likely(3):
            last = "" if entries[-1].endswith(":") else self.random.choice(["", " ", ","])
            return f"{opening}{', '.join(entries)}{last} {closing}"
        lines = [f"{' ' * (indent + 2)}{entry},{self.random.choice(['', '  # note'])}\n" for entry in entries]
        if self._likely(5):
            lines[-1] = lines[-1].replace(",", "", 1) if "," not in entries[-1] else lines[-1]
        return f"{opening}{self.random.choice(['', '  # open'])}\n{''.join(lines)}{' ' * (indent + 1)}{closing}"

    def _flow_entry(self, key: str, value: Any, indent: int) -> str:
        if value is None:
            name = self._scalar(key)
            alone = ":" if name[0] in "\"'" else ": "  # libyaml rejects a comma right after the colon of a plain key
            return name + self.random.choice(["", alone, f" {alone}", ": null", ":  ~"])
        return f"{self._scalar(key)}: {self.flow(value, indent)}"

    def _scalar(self, value: Any) -> str:
        if not isinstance(value, str):
            return json.dumps(value)
        ways = [json.dumps(value), "'" + value.replace("'", "''") + "'"]
        is_plain = value[:1].isalpha() and all(one.isalnum() or one in "-_./" for one in value)
        if is_plain and value.lower() not in _WORDS_WITH_MEANING:
            ways += [value] * 4
        return self.random.choice(ways)

    def _line_end(self) -> str:
        return self.random.choice(["", "", "", " ", "  # c", "\t# c"]) + "\n"

    def _comment(self, indent: int) -> str:
        text = ""
        while self._likely(1):
            blanks = " " * self.random.randrange(indent + 4)
            text += self.random.choice(["\n", f"{blanks}# comment: [x\n", f"{' ' * indent}#\n"])
        return text

    def _likely(self, tenths: int) -> bool:
        return self.random.randrange(10) < tenths
