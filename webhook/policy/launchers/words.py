"""The words of a command line: its elements, options and numbers, and the launch that they describe.

A value that holds a variable, a placeholder or a word such as `auto` is no number: its meaning is unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from webhook.policy.verdict import Path


@dataclass(slots=True)
class CommandLine:
    """The command line of a container, or of a command in its script.

    The first `commands` of the words are from `command`, or all of them from a `script` at a place. `joins_ray`: the
    line belongs to arguments that set up a Ray cluster.
    """

    words: Sequence[str]
    commands: int
    script: Path | None = None
    joins_ray: bool = False

    def place(self, index: int) -> Path:
        """The path, from the container, to the element that holds the word with this index."""
        if self.script is not None:
            return self.script
        return ("command", index) if index < self.commands else ("args", index - self.commands)


class Spread(Enum):
    """The containers whose GPUs a launch takes."""

    CONTAINER = "its own container"
    GROUP = "its own container, or all containers of its group where it has one"
    CLUSTER = "containers that only a group shows: nodes, hosts or a Ray cluster that the command line names"


class Setting(NamedTuple):
    """An option with its value, and the element that holds it."""

    option: str
    value: int
    place: Path


class Launch(NamedTuple):
    """One launch of a program, with the fewest GPUs that its options make it take.

    `each`: the GPUs that each of its containers needs. `total`: the GPUs that all of them need together. `spans`:
    whether its ranks run in several pods and communicate through NCCL. `setting` sets the amounts; other options may
    multiply them. `nodes` sets how many containers take part, where an option does. `program` is empty where the
    image's entrypoint starts it. `own_ray`: it uses Ray, and its command line joins no cluster, so that it starts one
    of its own unless the pod is a part of one.
    """

    program: str
    setting: Setting
    each: int
    total: int
    spread: Spread
    spans: bool
    nodes: Setting | None = None
    own_ray: bool = False


_MOST_DIGITS = 5
"""Digits of an amount. A longer one is a typo, or hostile."""


class Options:
    """The options of one program by their canonical names. The last of several equal ones counts."""

    def __init__(
        self,
        line: CommandLine,
        start: int,
        aliases: Mapping[str, str],
        flags: Set[str] | None = None,
        stop: int | None = None,
    ) -> None:
        """Read the words from the index `start` up to `stop`, or to the last.

        `aliases` maps other spellings, with dashes for underscores, to canonical names. `flags` are the options without
        a value of a launcher that starts a program: the first word that is neither option nor value ends its options,
        and the attribute `end` is the index of that word. Without `flags`, all of these words are read.
        """
        self._line = line
        self._found: dict[str, tuple[str, int]] = {}
        words = line.words
        index, count = start, len(words) if stop is None else stop
        while index < count:
            word = words[index]
            if not word.startswith("-"):
                if flags is not None:
                    break
                index += 1
                continue
            name, is_joined, value = word.partition("=")
            name = name.replace("_", "-")
            at = index
            index += 1
            if not is_joined:
                if flags is not None and name in flags:
                    value = "true"
                elif index < count and (flags is not None or not words[index].startswith("-")):
                    value, at = words[index], index
                    if flags is not None:
                        index += 1
            self._found[aliases.get(name, name)] = (value, at)
        self.end = index

    def __contains__(self, name: str) -> bool:
        return name in self._found

    def text(self, name: str) -> str:
        """The value as it is written; empty where the option is absent."""
        return self._found.get(name, ("", 0))[0]

    def number(self, name: str) -> int | None:
        """The value as a number above 0; None where the option is absent or its value is no such number."""
        return number(self.text(name))

    def factor(self, name: str) -> int:
        """The least that the option multiplies an amount by: 1 where it is absent or unknown."""
        return self.number(name) or 1

    def setting(self, name: str, value: int) -> Setting:
        """The option, which is present, with a value that its text stands for."""
        return Setting(name, value, self.place(name))

    def place(self, name: str) -> Path:
        """The path, from the container, to the element that holds the value of the option, which is present."""
        return self._line.place(self._found[name][1])


def number(text: str) -> int | None:
    """A text as a number above 0, or None."""
    if not text.isascii() or not text.isdigit() or len(text) > _MOST_DIGITS:
        return None
    return int(text) or None


_WORDS = frozenset({"gloo", "--cpu", "--use-cpu", "--no-cuda", "--device=cpu", "--platform=cpu", "--accelerator=cpu"})
_BEFORE_CPU = frozenset({"--device", "--platform", "--accelerator", "--device-type"})


def is_on_cpu(line: CommandLine, start: int) -> bool:
    """Whether a word from an index on names the CPU, or the backend `gloo` (pytorch/pytorch torch/distributed)."""
    words = line.words
    for index in range(start, len(words)):
        word = words[index]
        if word.endswith(("gloo", "cpu")) or word.startswith("--no"):
            plain = word.replace("_", "-")
            is_device = plain == "cpu" and index > start and words[index - 1] in _BEFORE_CPU
            if is_device or plain in _WORDS or plain.endswith("=gloo"):
                return True
    return False


_SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh"})


def is_shell(word: str) -> bool:
    """Whether a word names a shell, or the path to one."""
    return word.rpartition("/")[2] in _SHELLS
