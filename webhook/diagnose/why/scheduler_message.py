"""A message of kube-scheduler about a pod that it finds no node for, in reasons with the nodes that each keeps off.

The message reads "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint {team: research}.
preemption: …" (kubernetes pkg/scheduler/framework/types.go `FitError`). Its words differ between versions, so that a
text which is not known belongs to no cause.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from webhook.policy.placement.taints import is_lifecycle

_AVAILABLE: Final = re.compile(r"^\d+/\d+ nodes are available: ?", re.ASCII)
_REST: Final = re.compile(r"[.,;]? (?:preemption|no new claims to deallocate)\b.*", re.ASCII | re.DOTALL)
_COUNTED: Final = re.compile(r"^(\d{1,7}) (.*)$", re.ASCII | re.DOTALL)
_INSUFFICIENT: Final = re.compile(r"^Insufficient (\S+)$", re.ASCII)
_TAINT: Final = re.compile(r"taint(?:\(s\)|s)? \{([^:}\s]+)", re.ASCII)

_MOST: Final = 64
"""Reasons of a message that are read."""

_BY_WORDS: Final[Sequence[tuple[str, re.Pattern[str]]]] = [
    (cause, re.compile(words, re.ASCII | re.IGNORECASE))
    for cause, words in (
        ("volume", "volume"),
        ("resource-claim", r"claim|device ?class"),
        ("host-port", "free ports"),
        ("pod-affinity", "affinity rules|topology spread"),
        ("other-resources", "too many pods"),
        ("node-not-ready", "unschedulable|not ready"),
        ("node-selector", "node affinity|node selector|requested node name"),
        ("taint", "taint"),
    )
]

_STANDARD: Final = ("cpu", "memory", "ephemeral-storage", "pods")


class Reason(NamedTuple):
    """A reason. `nodes`: how many nodes it keeps off, 0 where it concerns all. `resource`: the one that lacks."""

    text: str
    nodes: int
    cause: str
    resource: str = ""


def reasons(message: str) -> list[Reason]:
    """The reasons in a message, in its order; none in a message of another form."""
    listed = _REST.sub("", _AVAILABLE.sub("", message)).rstrip(". ")
    return [_reason(one) for one in islice(_parts(listed), _MOST)] if listed else []


def _parts(listed: str) -> Iterator[str]:
    """The parts between commas. Each but a single one begins with a number."""
    part = ""
    for one in listed.split(", "):
        if part and _COUNTED.match(one):
            yield part
            part = one
        else:
            part = f"{part}, {one}" if part else one
    yield part


def _reason(part: str) -> Reason:
    counted = _COUNTED.match(part)
    text, nodes = (counted[2], int(counted[1])) if counted else (part, 0)
    if lacking := _INSUFFICIENT.match(text):
        resource = lacking[1]
        is_standard = resource in _STANDARD or resource.startswith("hugepages-")
        return Reason(text, nodes, "other-resources" if is_standard else "", resource)
    taint = _TAINT.search(text)
    if taint is not None and is_lifecycle(taint[1]):
        return Reason(text, nodes, "node-not-ready")
    return Reason(text, nodes, next((cause for cause, words in _BY_WORDS if words.search(text)), ""))
