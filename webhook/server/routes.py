"""Where a request goes: the hook of its path, and how long the API server waits for the answer."""

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
"""Seconds: what a hook's `timeoutSeconds` is without being set."""

_MOST = 30.0
"""Seconds: the most that `timeoutSeconds` may be."""

_DURATION = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:h|ms|us|µs|ns|m|s))+", re.ASCII)
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


@dataclass(frozen=True, slots=True)
class Route:
    """A hook, and the seconds within which its answer is waited for."""

    hook: Hook
    budget: float


def target(raw: str) -> Route:
    """The target that a request line names. Raises RefusalError."""
    found = _read(raw)
    if isinstance(found, Route):
        return found
    raise RequestError(*found)


@memo(64)
def _read(raw: str) -> Route | tuple[HTTPStatus, str]:
    """The target, or why there is none. The API server sends the same few lines over and over."""
    path, _, query = raw.partition("?")
    hook = _HOOKS.get(path)  # as it is: another spelling of a path is another path
    if hook is None:
        return HTTPStatus.NOT_FOUND, f"nothing is here; reviews go to {', '.join(_HOOKS)}"
    given = parse_qs(query, keep_blank_values=True).get("timeout")
    if given is None:
        return Route(hook, _USUAL)
    seconds = _duration(given[-1])
    if not seconds:
        return HTTPStatus.BAD_REQUEST, "the query's timeout is no duration above zero, such as 5s"
    return Route(hook, min(seconds, _MOST))


def _duration(text: str) -> float:
    """The seconds of a duration as Go writes it; 0 for what is none."""
    if len(text) > 40 or not _DURATION.fullmatch(text):
        return 0.0
    return sum(float(count) * _SECONDS[unit] for count, unit in re.findall(r"([0-9.]+)([a-zµ]+)", text))
