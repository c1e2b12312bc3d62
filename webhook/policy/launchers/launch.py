"""A launch: a program that starts processes on GPUs, and how many GPUs its options make it take."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

Place = tuple[str | int, ...]
"""The steps from a container to the value that sets an amount, such as `args` and the index of a word."""


class Spread(Enum):
    """The containers whose GPUs a launch takes."""

    CONTAINER = "its own container"
    GROUP = "its own container, or all containers of its group where it has one"
    CLUSTER = "containers that only a group shows: nodes, hosts or a Ray cluster that the command line names"


class Setting(NamedTuple):
    """An option with its value, and the element that holds it."""

    option: str
    value: int
    place: Place


class Launch(NamedTuple):
    """One launch of a program, with the least that its options make it take.

    `each`: the GPUs that each of its containers needs. `total`: the GPUs that all of them need together. `spans`:
    whether its ranks run in several pods and communicate through NCCL. `option` and `value` set the amounts, at
    `place`; other options may multiply them. `nodes` sets how many containers take part, where an option does.
    `program` is empty where the image's entrypoint starts it.
    """

    program: str
    option: str
    value: int
    each: int
    total: int
    spread: Spread
    spans: bool
    place: Place
    nodes: Setting | None = None

    @property
    def setting(self) -> Setting:
        return Setting(self.option, self.value, self.place)
