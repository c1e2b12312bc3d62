"""What pydantic found in a file, as diagnostics at their places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from webhook.diagnostics import Diagnostic, InputError, dotted
from webhook.policy.verdict import Path
from webhook.settings.forms import did_you_mean, shown
from webhook.settings.options import Option
from webhook.settings.shape import Listing, Section, Shape, Table, bare

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails, ValidationError

Locate: TypeAlias = Callable[[Path], tuple[int, int]]
"""The line and column of the value at a path, or of its nearest ancestor that exists; both count from 1."""


class Found(NamedTuple):
    """Where something is wrong, and what. In the message `{}` stands for the name of the value at `other`."""

    path: Path
    message: str
    other: Path | None = None


def refuse(found: Iterable[Found], locate: Locate, file: str, options: Sequence[Option] = ()) -> InputError:
    """The error for what was found in a file and in the options over it, in the order of the places."""
    names: Mapping[Path, str] = {(option.section, option.key): option.name for option in options}
    diagnostics = []
    for path, text, other in found:
        message = text if other is None else text.format(names.get(other) or dotted(other))
        key = dotted(path)
        if path in names or not file:
            diagnostics.append(Diagnostic(names.get(path) or key, 0, 0, message))
        else:
            diagnostics.append(Diagnostic(file, *locate(path), f"{key}: {message}" if key else message))
    return InputError(sorted(diagnostics, key=lambda one: (one.line, one.column, one.file, one.message)))


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
