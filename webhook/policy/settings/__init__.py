"""The settings: frozen dataclasses that carry defaults, bounds and descriptions."""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

__all__ = ["section", "setting"]

T = TypeVar("T")


def setting(default: T, description: str = "", *, key: str = "", shorthand: str = "") -> T:
    """A field with its default and its description, which a section of settings takes from its class.

    `key` is the field's name in the file where that is not the field's name in camelCase. `shorthand`: the key of
    a section that gets a list with the text that stands in place of the section. A field without a default needs
    `field(metadata={"description": ...})`.
    """
    metadata = {"description": description, "key": key, "shorthand": shorthand}
    if isinstance(default, dict):
        return cast("T", field(default_factory=default.copy, metadata=metadata))
    return field(default=default, metadata=metadata)


class _Shared:
    """The methods of all sections of settings."""

    def __init__(self, *values: Any, **named: Any) -> None:
        known = fields(cast(Any, self))
        defaults = {one.name: one.default if one.default_factory is MISSING else one.default_factory() for one in known}
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


if TYPE_CHECKING:
    from dataclasses import dataclass as section
else:

    def section(**_):  # the argument, `frozen=True`, is for type checkers
        """Make a class a section of settings: a frozen dataclass without methods of its own.

        To generate methods for each section would take a tenth of the time in which `check` starts.
        """
        return _section


def _section(cls: type[T]) -> type[T]:
    for name, method in vars(_Shared).items():
        if callable(method):
            setattr(cls, name, method)
    return dataclass(init=False, repr=False, eq=False)(cls)
