"""The settings: frozen dataclasses that carry defaults, bounds and descriptions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from typing import Any, ClassVar, NoReturn, TypeVar, cast, dataclass_transform

T = TypeVar("T")


def setting(
    default: T,
    description: str,
    *,
    key: str = "",
    shorthand: str = "",
    written: Callable[[Any], Any] | None = None,
) -> T:
    """A field with its default and its description. A section takes the latter from its class, and needs no such field.

    `key` is the field's name in the file where that is not the field's name in camelCase. `shorthand`: the key of
    a section that gets a list with the text that stands in place of the section. `written` spells the value as a file
    does.
    """
    metadata = {"description": description, "key": key, "shorthand": shorthand, "written": written}
    if isinstance(default, dict):
        return cast("T", field(default_factory=default.copy, metadata=metadata))
    return field(default=default, metadata=metadata)


def required(description: str) -> Any:
    """A field without a default."""
    return field(metadata={"description": description})


def key_of(one: Field[Any]) -> str:
    """The key of a field in the file: `per_pod` is `perPod`."""
    first, *rest = one.name.split("_")
    return str(one.metadata.get("key") or first + "".join(map(str.capitalize, rest)))


def default_of(one: Field[Any]) -> Any:
    """The default of a field; MISSING for a key that must be given."""
    return one.default if one.default_factory is MISSING else one.default_factory()


@dataclass_transform(frozen_default=True, field_specifiers=(field, required))
class Section:
    """A section of settings or facts: a frozen dataclass, whose methods all sections share.

    To generate methods for each section would take a tenth of the time in which `check` starts.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init_subclass__(cls) -> None:
        dataclass(init=False, repr=False, eq=False)(cls)

    def __init__(self, *values: Any, **named: Any) -> None:
        defaults = {one.name: default_of(one) for one in fields(self)}
        placed = dict(zip(defaults, values, strict=False))
        given = defaults | placed | named
        wrong = [name for name, value in given.items() if name not in defaults or value is MISSING]
        if wrong or len(values) > len(placed) or placed.keys() & named:
            raise TypeError(f"{type(self).__name__}: missing, unknown or repeated: {', '.join(wrong) or 'a value'}")
        vars(self).update(given)

    def __setattr__(self, name: str, _: object = None) -> NoReturn:
        raise FrozenInstanceError(f"{type(self).__name__}.{name} is read-only")

    __delattr__ = __setattr__

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other) if type(self) is type(other) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(vars(self).values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"
