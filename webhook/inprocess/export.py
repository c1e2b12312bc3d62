"""An export: the objects of policies for kubectl or for the policy files of an API server, and a summary of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from webhook.inprocess.installation import Installation
from webhook.inprocess.kinds import covered
from webhook.inprocess.mutating import mutating
from webhook.inprocess.policies import Left, policies
from webhook.inprocess.validating import RULES
from webhook.policy.checks import POD_CHECKS
from webhook.policy.settings.settings import Settings
from webhook.policy.workloads.presets import kinds_with

_NAME: Final = "gpushare-webhook"
_STATIC: Final = ".static.k8s.io"
"""The ending of the names in policy files (kubernetes/kubernetes, k8s.io/apiserver pkg/admission/plugin/manifest)."""


class Target(NamedTuple):
    """What an export is for.

    `forms`: those of the objects, "vap" for ValidatingAdmissionPolicies, "map" for MutatingAdmissionPolicies.
    `installation`: the release whose mode the policies obey. `kinds`: only kinds of these names; empty for all.
    `is_static`: the objects are for the policy files of an API server. `known`: the parameters of a facts file.
    """

    forms: Sequence[str] = ("vap", "map")
    installation: Installation | None = None
    kinds: Sequence[str] = ()
    is_static: bool = False
    known: Mapping[str, str] | None = None


class Export(NamedTuple):
    """The objects, and what they decide.

    `codes` are those that they alone decide, `left` those that the settings leave to the webhook, `never` those of pods
    that no policy expresses. `injects`: they change pods. `kinds` are the names of the kinds that they match,
    `other_kinds` those of the webhook alone.
    """

    objects: Sequence[Mapping[str, Any]]
    codes: Sequence[str]
    injects: bool
    left: Sequence[Left]
    never: Sequence[str]
    kinds: Sequence[str]
    other_kinds: Sequence[str]


def export(settings: Settings, written: Mapping[str, Any], target: Target) -> Export:
    """The export of settings, which `written` holds in the form of a file."""
    kinds = [one for one in covered(settings.workloads) if not target.kinds or one.kind.kind in target.kinds]
    installation, known = target.installation, target.known
    made, left = policies(settings, written, kinds, installation, known) if "vap" in target.forms else ([], [])
    pods = any(one.kind.kind == "Pod" for one in kinds)
    injects = pods and "map" in target.forms
    changing, unchanged = mutating(settings, written, installation, known) if injects else ([], [])
    prefix = _NAME if target.installation is None else target.installation.name
    ending = _STATIC if target.is_static else ""
    matched = {(one.kind.group, one.kind.kind) for one in kinds}
    others = [name for name in kinds_with(settings.workloads) if name not in matched]
    rules = {rule.code for rule in RULES}
    guarded = {one.code for one in left}
    return Export(
        [
            *(each for one in made for each in one.objects(prefix, ending)),
            *(each for one in changing for each in one.objects(prefix, ending)),
        ],
        list(dict.fromkeys(one.code for one in made if one.code not in guarded)),
        bool(changing),
        [*left, *unchanged],
        [check.code for check in POD_CHECKS if check.code not in rules],
        [one.kind.kind for one in kinds],
        [f"{kind}.{group}" if group else kind for group, kind in others],
    )
