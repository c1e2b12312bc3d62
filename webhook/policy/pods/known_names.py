"""The names of known resources, and the one that a misspelled name means."""

from __future__ import annotations

from collections.abc import Iterable

_FOREIGN = frozenset({"gpumem", "gpumem-percentage", "gpucores", "vgpu", "pgpu"})
"""Names that other software gives to GPUs (Project-HAMi/HAMi, kubevirt)."""

_MIG = "nvidia.com/mig-"


class KnownNames:
    """The resources of the settings, by the lengths of the names that could be a typo of them."""

    __slots__ = ("_by_length", "_names")

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)
        self._by_length: dict[int, list[str]] = {}
        for name in names:
            for length in (len(name) - 1, len(name), len(name) + 1):
                self._by_length.setdefault(length, []).append(name)

    def meant_by(self, name: str) -> str | None:
        """The known resource that is one edit away from a name, or None."""
        near = self._by_length.get(len(name))
        if near is None or name in self._names or name.startswith(_MIG) or name.partition("/")[2] in _FOREIGN:
            return None
        return next((known for known in near if _is_one_edit_away(name, known)), None)


def _is_one_edit_away(left: str, right: str) -> bool:
    """Whether inserting, removing, replacing or swapping one letter turns one into the other."""
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    left, right = left[start:], right[start:]
    swapped = len(left) >= 2 and left[1::-1] + left[2:] == right
    return swapped or left[1:] == right[1:] or left[1:] == right or left == right[1:]
