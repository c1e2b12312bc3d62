"""An object with the edits that the webhook makes, before it is written in a format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from webhook.manifests import Manifest
from webhook.report.model import Subject


@dataclass(frozen=True, slots=True)
class Mutation:
    """An object of a file, the JSON Patch operations for it, and the object that results.

    `edited` computes the result on each call. It may take far more memory than the object of the manifest, in which
    YAML aliases share their target, so formats hold one result at a time.
    """

    manifest: Manifest
    subject: Subject
    operations: Sequence[dict[str, Any]]
    edited: Callable[[], object]
