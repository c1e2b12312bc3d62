"""What validation found in a file, as diagnostics at their places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from webhook.diagnostics import Diagnostic, InputError, dotted
from webhook.policy.settings.formats import did_you_mean, refusal, shown
from webhook.policy.verdict import Path
from webhook.settings.options import Option
from webhook.settings.schema_tree import Array, Map, Node, Object, Scalar, bare

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


def found(error: ValidationError, tree: Object) -> Iterator[Found]:
    """What pydantic found, in the words of the schema tree. Only kinds of errors are read, no texts."""
    for one in error.errors(include_url=False):
        path = tuple(step for step in one["loc"] if step != _KEY)
        if one["type"] == "conflicts":
            for below, message, other in one["ctx"]["conflicts"]:
                yield Found((*path, *below), message, None if other is None else (*path, *other))
        else:
            yield Found(path, _message(one, path, tree))


_KEY = "[key]"
"""The step by which pydantic says that the key of a mapping is wrong, and not the value under it."""


def _message(one: ErrorDetails, path: Path, tree: Object) -> str:
    """What is wrong at a path. pydantic's text stands only for kinds of errors that the schema tree cannot cause."""
    if one["loc"][-1:] == (_KEY,):
        return f"the key {_refusal(_key_at(path[:-1], tree), one) or one['msg']}"
    match one["type"]:
        case "missing":
            return "is missing"
        case "invalid_key":
            return "the key must be text; put it in quotes"
        case "extra_forbidden":
            return _unknown(str(path[-1]), _keys(_node_at(path[:-1], tree)))
    return _refusal(_node_at(path, tree), one, in_list=bool(path) and isinstance(path[-1], int)) or one["msg"]


def _refusal(node: Node | None, one: ErrorDetails, *, in_list: bool = False) -> str:
    match node, one["type"]:
        case Scalar(form), _:
            return refusal(form, one["input"])
        case Array(), "list_type":
            return f"must be a list, not {shown(one['input'])}; write [] for none"
        case Map(), "dict_type":
            return f"must be a mapping, not {shown(one['input'])}; write {{}} for none"
        case Object() as fixed, "model_type":
            remedy = f"its keys are {', '.join(fixed.keys)}" if in_list else "leave the key out for its defaults"
            return f"must be a mapping, not {shown(one['input'])}; {remedy}"
    return ""


def _unknown(key: str, keys: Sequence[str]) -> str:
    advice = did_you_mean(key, keys) or f"the keys here are {', '.join(keys)}"
    return f"unknown key {shown(key)}; {advice}"


def _keys(node: Node | None) -> list[str]:
    return node.keys if isinstance(node, Object) else []


def _key_at(path: Path, tree: Object) -> Node | None:
    node = _node_at(path, tree)
    return node.key if isinstance(node, Map) else None


def _node_at(path: Path, tree: Object) -> Node | None:
    """The node at a path, without its null; None where the path leaves the tree."""
    node: Node | None = tree
    for step in path:
        match node:
            case Object():
                field = node.field(str(step))
                node = None if field is None else bare(field.node)
            case Array(inner) | Map(_, inner):
                node = bare(inner)
            case _:
                return None
    return node
