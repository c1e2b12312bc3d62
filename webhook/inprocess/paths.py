"""Paths in containers and on hosts, as expressions: `webhook.policy.pods.pod.clean_path`."""

from __future__ import annotations

from webhook.inprocess.cel import let

MOST_STEPS = 40
"""Steps of a path with `..` that are followed: CEL has no loop, so that the cost grows faster than the steps."""

_BELOW = "steps.slice(place + 1, place + 2 + further)"
_STAYS = (
    "step != '..' && lists.range(steps.size() - place - 1).all(further, "
    f"{_BELOW}.filter(other, other == '..').size() * 2 <= {_BELOW}.size())"
)
"""Whether no `..` takes back a step: after it, the steps up never outnumber those down."""

_WITHOUT_UPS = (
    "!('..' in steps) ? '/' + steps.join('/') : "
    f"steps.size() > {MOST_STEPS} ? '' : '/' + steps.transformList(place, step, {_STAYS}, step).join('/')"
)


def clean_path(path: str) -> str:
    """A path without double or trailing slashes and without dots; empty where it has too many steps to follow."""
    is_clean = "path.startsWith('/') && !path.contains('/.') && !path.contains('//') && !path.endsWith('/')"
    steps = let("steps", "path.split('/').filter(step, step != '' && step != '.')", _WITHOUT_UPS)
    return let("path", path, f"{is_clean} || path.size() > 4096 ? path : {steps}")
