"""The formats of `mutate -o`: the registry here, and one module for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from functools import partial
from typing import assert_never

from webhook.report.mutate import diff, json, patch
from webhook.report.mutation import Mutation
from webhook.report.paint import Paint


class MutateFormat(Enum):
    """A format of `mutate`. The value is the word that `-o` takes and the name of the module."""

    JSON = "json"
    PATCH = "patch"
    DIFF = "diff"

    def to_format(self, paint: Paint) -> Callable[[Sequence[Mutation]], Iterator[str]]:
        """Return the function that writes mutations in this format, piece by piece."""
        match self:
            case MutateFormat.JSON:
                return json.write
            case MutateFormat.PATCH:
                return patch.write
            case MutateFormat.DIFF:
                return partial(diff.write, paint=paint)
            case _:
                assert_never(self)
