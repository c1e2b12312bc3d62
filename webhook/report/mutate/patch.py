"""The edits as JSON Patch (RFC 6902): of a single object the operations, of several a list that names each object."""

from __future__ import annotations

from webhook.report.mutate.json import JsonMutations
from webhook.report.rewrite import Mutation


class PatchWriter(JsonMutations):
    """Writes operations when it knows whether more objects follow."""

    head = "["
    tail = "\n"
    indent = 2

    def item(self, mutation: Mutation) -> object:
        return {
            "file": mutation.manifest.file,
            "document": mutation.manifest.document,
            "object": mutation.subject.as_data(),
            "patch": mutation.operations,
        }

    def single(self, mutation: Mutation) -> object:
        return mutation.operations
