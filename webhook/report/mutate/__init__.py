"""The formats of `mutate -o`: the registry here, and their modules."""

from __future__ import annotations

from enum import Enum
from typing import assert_never

from webhook.report.mutate.diff import DiffWriter
from webhook.report.mutate.json import JsonMutations, PatchWriter
from webhook.report.mutate.yaml import YamlMutations
from webhook.report.mutation import Destination, MutationWriter


class MutateFormat(Enum):
    """A format of `mutate`. The value is the word that `-o` takes."""

    YAML = "yaml"
    JSON = "json"
    DIFF = "diff"
    PATCH = "patch"

    def writer(self, destination: Destination) -> MutationWriter:
        match self:
            case MutateFormat.YAML:
                return YamlMutations(destination)
            case MutateFormat.JSON:
                return JsonMutations()
            case MutateFormat.DIFF:
                return DiffWriter(destination)
            case MutateFormat.PATCH:
                return PatchWriter()
            case _:
                assert_never(self)
