"""A `gpushare-webhook/` annotation is malformed."""

from __future__ import annotations

from collections.abc import Callable

from webhook.policy.context import PodContext
from webhook.policy.pods.client_limits import ANNOTATIONS, INJECTED, PREFIX
from webhook.policy.verdict import Severity, Violation, Violations, message

_KNOWN: dict[str, Callable[[str], object]] = {annotation.key: annotation.write for annotation in ANNOTATIONS}


def run(context: PodContext) -> Violations:
    """One violation per annotation that is wrong."""
    own = {INJECTED, (context.policy.exempt_annotation or "").partition("=")[0]}
    for key, value in context.pod.annotations.items():
        if not key.startswith(PREFIX):
            continue
        path, check = (*context.pod.metadata_path, "annotations", key), _KNOWN.get(key)
        if check is not None:
            try:
                check(value if isinstance(value, str) else "")
            except ValueError as wanted:
                problem = message("annotation {} cannot be {}", key, value)
                yield Violation(path, problem, f"use {wanted}, in quotes")
        elif key not in own:
            problem = message("annotation {} is not a gpushare-webhook annotation", key)
            yield Violation(path, problem, f"use one of {', '.join(sorted(_KNOWN))}", Severity.WARN)
