"""Edits of the default settings in a text, for tests of the diff."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tests.manifests.reading import read
from webhook.cli.mutate import mutation
from webhook.diagnostics import Diagnostic
from webhook.dryrun.evaluation import Evaluated, evaluate
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.manifests import Manifest
from webhook.policy.settings.settings import Settings
from webhook.report.rewrite import Mutation, Splice, applied, rewrite

FILE = "pod.yaml"

DEFAULTS = OfflineEvaluator.of(Settings())


def mutations(
    data: bytes, evaluator: OfflineEvaluator = DEFAULTS, namespace: str = "", file: str = FILE
) -> list[Mutation]:
    """Return the objects of a file with their edits, without those that are denied or cannot be read."""
    checked = [evaluate(one, evaluator, namespace) for one in read(file, data) if isinstance(one, Manifest)]
    return [mutation(one) for one in checked if isinstance(one, Evaluated) and not one.is_denied]


def splices(data: bytes, made: list[Mutation]) -> list[Splice]:
    """Return the splices of all documents of a file."""
    return [splice for one in rewrite(data, made) for splice in one.splices]


def rewritten(data: bytes) -> bytes:
    """Return a file with the edits of its objects."""
    return applied(data, splices(data, mutations(data)))


def values(data: bytes) -> list[Any]:
    """Return the objects of a file, and None for each part that cannot be read."""
    return [None if isinstance(one, Diagnostic) else one.value for one in read(FILE, data)]


def expected(
    data: bytes, evaluator: OfflineEvaluator = DEFAULTS, namespace: str = "", left: Collection[int] = ()
) -> list[Any]:
    """Return what `values` finds in a file after the edits, apart from those of documents that are left as they are."""
    made = [one for one in mutations(data, evaluator, namespace) if one.manifest.document not in left]
    edited = {(one.manifest.document, one.manifest.path): one.edited() for one in made}
    return [
        None if isinstance(one, Diagnostic) else edited.get((one.document, one.path), one.value)
        for one in read(FILE, data)
    ]
