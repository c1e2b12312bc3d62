"""The data of policies: the few variables that depend on settings. All other expressions are fixed text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from webhook.inprocess.cel import literal
from webhook.inprocess.injecting.options import options, tolerations
from webhook.policy.rules import Pipe
from webhook.policy.settings.settings import Settings

NO_LIMIT: Final = -1


def data(settings: Settings) -> Mapping[str, Any]:
    """The value of each variable, as JSON. An absent exempt annotation is an empty mapping."""
    limits, users = settings.limits, settings.users
    return {
        "shared": _names(settings, "shared"),
        "whole": _names(settings, "whole"),
        "mig": _names(settings, "mig"),
        "renamed": sorted(each.name for each in settings.resources if each.renamed),
        "limits": {
            "container": _limit(limits.per_container),
            "pod": _limit(limits.per_pod),
            "timeSlicing": _limit(limits.time_slicing.per_container),
        },
        "mpsLabels": dict(settings.placement.mps_labels),
        "timeSlicingLabels": dict(settings.placement.time_slicing_labels),
        "pipes": _pipes(settings),
        "exemptAnnotation": _exempt_annotation(settings.exempt.annotation),
        "options": {
            "hostIPC": users.host_ipc if users.host_ipc == "required" else str(users.host_ipc).lower(),
            **options(settings),
        },
        "tolerations": tolerations(settings),
    }


def expression(value: object) -> str:
    """The expression of a variable with this value. As `dyn`, it may be empty."""
    return f"dyn({literal(value)})"


def _names(settings: Settings, kind: str) -> list[str]:
    return sorted(each.name for each in settings.resources if each.kind == kind)


def _limit(limit: int | None) -> int:
    return NO_LIMIT if limit is None else limit


def _pipes(settings: Settings) -> dict[str, dict[str, str]]:
    directory, mount = settings.injections.pipe_directory, settings.injections.pipe_mount
    pipes = {name: Pipe(name, directory, mount) for name in _names(settings, "shared")}
    return {name: {"path": pipe.path, "host": pipe.host, "volume": pipe.volume} for name, pipe in pipes.items()}


def _exempt_annotation(annotation: str | None) -> dict[str, str]:
    """The annotation that exempts a pod, as `webhook.policy.rules.carries` reads it."""
    if annotation is None:
        return {}
    key, _, value = annotation.partition("=")
    return {"key": key, "value": value or "true"}


NAMES: Final = tuple(data(Settings()))
"""The names of these variables."""
