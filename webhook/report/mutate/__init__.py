"""The formats of `mutate -o`: one module for each, which is imported when it is chosen."""

from __future__ import annotations

from enum import Enum

from webhook.report.mutation import Destination, MutationWriter


class MutateFormat(Enum):
    """A format of `mutate`. The value is the word that `-o` takes and the name of the module."""

    YAML = "yaml"
    JSON = "json"
    DIFF = "diff"
    PATCH = "patch"

    def writer(self, destination: Destination) -> MutationWriter:
        match self:
            case MutateFormat.YAML:
                from webhook.report.mutate.yaml import YamlMutations

                return YamlMutations(destination)
            case MutateFormat.JSON:
                from webhook.report.mutate.json import JsonMutations

                return JsonMutations()
            case MutateFormat.DIFF:
                from webhook.report.mutate.diff import DiffWriter

                return DiffWriter(destination)
            case MutateFormat.PATCH:
                from webhook.report.mutate.patch import PatchWriter

                return PatchWriter()
