"""The checks that the annotation of a pod suppresses, where the settings name one."""

from __future__ import annotations

from collections.abc import Collection

from webhook.policy.context import PodContext

_LONGEST = 1024
"""Characters of the annotation's value: room for every code several times. A longer value suppresses nothing."""

_NO_CODES: frozenset[str] = frozenset()


def suppressed_codes(context: PodContext) -> frozenset[str]:
    """The codes of the checks whose findings about the pod are suppressed.

    Codes that do not exist, and text that is no list of codes, suppress nothing: GPS018 reports them.
    """
    annotation = context.rules.suppressing_annotation
    value = None if annotation is None else context.pod.annotations.get(annotation)
    return _NO_CODES if value is None else frozenset(_listed(value)).intersection(context.rules.severities)


def unknown_codes(value: object, known: Collection[str]) -> list[object]:
    """What a value of the annotation names besides known codes: each once, in the order of the value.

    A value that is no list of codes is unknown as a whole.
    """
    codes = _listed(value)
    return [code for code in dict.fromkeys(codes) if code not in known] if codes else [value]


def _listed(value: object) -> list[str]:
    """The codes of a list with commas, in upper case; none for a value that is too long or not text."""
    if not isinstance(value, str) or len(value) > _LONGEST:
        return []
    return [code.upper() for part in value.split(",") if (code := part.strip())]
