"""What the policies of an installation decide, as the hooks need it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webhook.inprocess.kinds import covered
from webhook.inprocess.policies import policies
from webhook.policy.decided import Decided
from webhook.policy.settings.settings import Settings


def decided(settings: Settings, written: Mapping[str, Any]) -> Decided:
    """The codes and kinds that policies decide, whatever the facts; `written` holds the settings in the form of a file.

    A kind to which the settings add paths stays with the hooks, because no policy sees the pods there.
    """
    kinds = covered(settings.workloads)
    made, _ = policies(settings, written, kinds)
    own = {(path.group, path.kind) for path in settings.workloads.paths}
    names = {(one.kind.group, one.kind.kind) for one in kinds}
    return Decided(frozenset(policy.code for policy in made), frozenset(names - own))
