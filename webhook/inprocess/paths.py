"""Paths in containers without double or trailing slashes and without dots: `webhook.policy.pods.pod.clean_path`."""

from __future__ import annotations

from typing import Final

from webhook.inprocess.cel import let

MOST_STEPS: Final = 40
"""Steps of a path with `..` that is normalised; a longer one stays as it is."""

_LONGEST = 4096
"""PATH_MAX of Linux, as in the webhook."""

_IS_CLEAN = "path.startsWith('/') && !path.contains('/.') && !path.contains('//') && !path.endsWith('/')"

# A step stays unless a later `..` removes it: one that has more of them than other steps between it and the end.
_LEFT = (
    "steps.transformList(at, step, step != '..' && lists.range(steps.size() - at).all(n, "
    "2 * steps.slice(at + 1, at + 1 + n).filter(other, other == '..').size() <= n), step)"
)
_STEPS = f"!('..' in steps) ? '/' + steps.join('/') : steps.size() > {MOST_STEPS} ? path : '/' + {_LEFT}.join('/')"


def clean(path: str) -> str:
    """The expression of a path's clean form."""
    steps = let("steps", "path.split('/').filter(step, !(step in ['', '.']))", _STEPS)
    return let("path", path, f"({_IS_CLEAN}) || path.size() > {_LONGEST} ? path : {steps}")


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
