"""Everything that is wrong with a file, each problem at its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from webhook.policy.printable import printable
from webhook.settings.forms import did_you_mean, shown
from webhook.settings.options import Option
from webhook.settings.shape import Listing, Section, Shape, Table, bare

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails, ValidationError

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indices from the root of a file down to a value."""

Locate: TypeAlias = Callable[[Path], tuple[int, int]]
"""The line and column of the value at a path, or of its nearest ancestor that exists; both count from 1."""


class Found(NamedTuple):
    """Where something is wrong, and what. In the message `{}` stands for the name of the value at `other`."""

    path: Path
    message: str
    other: Path | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. `key` is dotted, such as `injections.pipeMount.type`; empty for the whole file.

    Where an option gave the value, `key` is the option's name, and line and column are 0.
    """

    file: str
    line: int
    column: int
    key: str
    message: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}: " if self.line else ""
        return printable(where + (f"{self.key}: {self.message}" if self.key else self.message), _LONGEST)


_LONGEST = 8192
"""Characters of a problem as text: room for the longest path of Linux (4096), which programs parse, and a message."""


class SettingsError(Exception):
    """A settings or facts file that cannot be used, with all its problems in the order of their places."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)


def refuse(found: Iterable[Found], locate: Locate, file: str, options: Sequence[Option] = ()) -> SettingsError:
    """The error for what was found in a file and in the options over it."""
    names: Mapping[Path, str] = {(option.section, option.key): option.name for option in options}
    problems = []
    for path, text, other in found:
        message = text if other is None else text.format(names.get(other) or dotted(other))
        place = (0, 0) if path in names else locate(path)
        problems.append(Problem(file, *place, names.get(path) or dotted(path), message))
    return SettingsError(sorted(problems, key=lambda problem: (problem.line, problem.column, problem.key)))


def dotted(path: Path) -> str:
    """A path as messages have it: `resources[0].name`, `placement.mpsLabels["example.com/mps"]`."""
    return "".join(map(_step, path)).removeprefix(".")


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if re.fullmatch("[A-Za-z0-9_-]{1,63}", step) else f"[{shown(step)}]"


def found(error: ValidationError, shape: Section) -> Iterator[Found]:
    """What pydantic found, in the project's words."""
    for one in error.errors(include_url=False):
        path = tuple(step for step in one["loc"] if step != "[key]")
        yield from _found(one, path, shape)


def _found(one: ErrorDetails, path: Path, shape: Section) -> Iterator[Found]:
    match one["type"]:
        case "value_error":
            subject = "the key " if one["loc"][-1] == "[key]" else ""
            yield Found(path, f"{subject}{one['ctx']['error']}")
        case "misfits":
            for below, message, other in one["ctx"]["misfits"]:
                yield Found((*path, *below), message, None if other is None else (*path, *other))
        case "extra_forbidden":
            yield Found(path, _unknown(str(path[-1]), _keys_at(path[:-1], shape)))
        case "invalid_key":
            yield Found(path, "the key must be text; put it in quotes")
        case "missing":
            yield Found(path, "is missing")
        case "list_type":
            yield Found(path, f"must be a list, not {shown(one['input'])}; write [] for none")
        case "model_type" | "dict_type":
            remedy = _remedy(path, _keys_at(path, shape))
            yield Found(path, f"must be a mapping, not {shown(one['input'])}; {remedy}")
        case _:
            yield Found(path, one["msg"])


def _remedy(path: Path, keys: Sequence[str]) -> str:
    if not keys:
        return "write {} for none"
    return f"its keys are {', '.join(keys)}" if isinstance(path[-1], int) else "leave the key out for its defaults"


def _unknown(key: str, keys: Sequence[str]) -> str:
    advice = did_you_mean(key, keys) or f"the keys here are {', '.join(keys)}"
    return f"unknown key {shown(key)}; {advice}"


def _keys_at(path: Path, shape: Shape) -> list[str]:
    """The keys that are ours in the mapping at a path; none where they are the user's."""
    for step in path:
        match shape := bare(shape):
            case Section(members=members):
                shape = next(member.shape for member in members if member.key == step)
            case Listing(inner) | Table(_, inner):
                shape = inner
    shape = bare(shape)
    return [member.key for member in shape.members] if isinstance(shape, Section) else []
