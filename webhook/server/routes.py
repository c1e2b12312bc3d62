"""Routes of the review listener: the hook of a path, and the timeout of the API server."""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qs

from webhook.admission import Hook
from webhook.policy.memo import memo
from webhook.server.errors import RequestError

_HOOKS = {hook.path: hook for hook in Hook}
_USUAL = 10.0
"""Seconds: the default of a webhook's `timeoutSeconds`."""

_MOST = 30.0
"""Seconds: the maximum of `timeoutSeconds`."""

_DURATION = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:h|ms|us|µs|ns|m|s))+", re.ASCII)
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


@dataclass(frozen=True, slots=True)
class Route:
    """A hook, and the seconds for which the API server waits for its response."""

    hook: Hook
    budget: float


def target(raw: str) -> Route:
    """The route of a request target, which is a path with a query. Raises RequestError."""
    found = _read(raw)
    if isinstance(found, Route):
        return found
    raise RequestError(*found)


@memo(64)
def _read(raw: str) -> Route | tuple[HTTPStatus, str]:
    """The route, or the error. Cached because the API server sends the same few targets."""
    path, _, query = raw.partition("?")
    hook = _HOOKS.get(path)  # compared as it is: percent-encoding or a second slash makes another path
    if hook is None:
        return HTTPStatus.NOT_FOUND, f"no such path; send reviews to {', '.join(_HOOKS)}"
    given = parse_qs(query, keep_blank_values=True).get("timeout")
    if given is None:
        return Route(hook, _USUAL)
    seconds = _duration(given[-1])
    if not seconds:
        return HTTPStatus.BAD_REQUEST, "the timeout in the query is not a positive duration, such as 5s"
    return Route(hook, min(seconds, _MOST))


def _duration(text: str) -> float:
    """The seconds of a duration in Go's format; 0 if it is not one."""
    if len(text) > 40 or not _DURATION.fullmatch(text):
        return 0.0
    return sum(float(count) * _SECONDS[unit] for count, unit in re.findall(r"([0-9.]+)([a-zµ]+)", text))
