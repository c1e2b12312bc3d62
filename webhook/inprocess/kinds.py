"""The kinds that the policies cover, and the expressions that lead to their pods.

A kind is covered if its pods are templates or pod specs that its controller uses as they are. The webhook checks the
others: it assembles their pods, or knows conditions that the expressions do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from webhook.inprocess.cel import let, literal, record, text
from webhook.policy.pods.custom import FIELDS
from webhook.policy.settings.settings import PresetName, Workloads
from webhook.policy.verdict import Path
from webhook.policy.workloads.kinds import BUILT_IN, QUEUE_LABEL, Kind, is_pod
from webhook.policy.workloads.paths import PathPattern, PodPath, never, repeats
from webhook.policy.workloads.presets import PRESETS


@dataclass(frozen=True)
class CoveredKind:
    """A kind that the policies cover. `preset` is the one that names it; None for a built-in kind."""

    preset: PresetName | None
    kind: Kind

    @property
    def name(self) -> str:
        """Its group and kind, as the expressions compare them."""
        return _name(self.kind)

    def rule(self) -> dict[str, object]:
        """Its rule among the `resourceRules` of a policy."""
        return {
            "apiGroups": [self.kind.group],
            "apiVersions": list(self.kind.versions),
            "operations": ["CREATE", "UPDATE"],
            "resources": [self.kind.resource],
            "scope": "Namespaced" if self.kind.namespaced else "Cluster",
        }


def _name(kind: Kind) -> str:
    return f"{kind.group}/{kind.kind}"


def _is_covered(kind: Kind) -> bool:
    return (
        kind.has_open_nodes is never
        and kind.is_used_elsewhere is never
        and all(
            path.holds in ("template", "podSpec") and path.is_unused is never and not path.renders
            for path in kind.paths
        )
    )


COVERED: Final[Sequence[CoveredKind]] = (
    *(CoveredKind(None, kind) for kind in BUILT_IN.values()),
    *(CoveredKind(preset.name, kind) for preset in PRESETS for kind in preset.kinds if _is_covered(kind)),
)
"""All of them, the built-in ones first."""


def covered(workloads: Workloads) -> list[CoveredKind]:
    """The kinds that the policies cover under these settings."""
    return [
        each
        for each in COVERED
        if each.preset is None or "all" in workloads.presets or each.preset in workloads.presets
    ]


def _by_kind(of: Mapping[str, list[str]], otherwise: str) -> str:
    """An expression by kind: `of` holds, for each expression, the kinds to which it applies."""
    cases = [f"variables.kind in {literal(names)} ? {expression} : " for expression, names in of.items()]
    return "".join(cases) + otherwise


def _grouped(expressions: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The names of kinds by their expression."""
    grouped: dict[str, list[str]] = {}
    for name, expression in expressions:
        grouped.setdefault(expression, []).append(name)
    return grouped


def _below(at: str, steps: Sequence[str]) -> str:
    """The value to which steps lead that repeat nothing; null where there is none."""
    return f"{at}{''.join(f'.?{step}' for step in steps)}.orValue(dyn(null))" if steps else at


def _found(at: str, steps: PathPattern, holds: str, prefix: str, depth: int = 0) -> str:
    """The pods to which steps lead from a value: a list of records, each with its place in the object."""
    repeated = next((place for place, step in enumerate(steps) if repeats(step)), None)
    if repeated is None:
        pod, content = ("pod", "pod") if holds == "template" else ("{'spec': pod}", _CONTENT)
        made = record(at=prefix, pod=pod, content=content)
        return f"[{_below(at, steps)}].filter(pod, type(pod) == map).map(pod, {made})"
    key, one, held = f"key{depth}", f"one{depth}", f"held{depth}"
    inner = _found(one, steps[repeated + 1 :], holds, f"{prefix} + '/' + string({key})", depth + 1)
    if steps[repeated + 1 : repeated + 2] and not repeats(steps[repeated + 1]):
        inner = f"type({one}) == map ? {inner} : []"
    every = f"type({held}) == list || type({held}) == map ? {held}.transformList({key}, {one}, {inner}).flatten() : []"
    return let(held, _below(at, steps[:repeated]), every)


_CONTENT = f"pod.transformMap(field, value, field in {literal([*FIELDS, 'containers', 'initContainers'])}, value)"
"""The fields of a pod spec that belong to a pod: a mapping of a custom kind may hold others."""


def _paths(paths: Sequence[PodPath]) -> str:
    listed = [
        _found("root", path.steps, str(path.holds), text(str(place)) if len(paths) > 1 else "''")
        for place, path in enumerate(paths)
    ]
    return " + ".join(listed)


def _labels(path: Path | None) -> list[str]:
    if path is None:
        return []
    at = "".join(f".?{step}" for step in path)
    return [f"object{at}[?{text(QUEUE_LABEL)}].orValue('') != ''"]


def _deferred(kind: Kind) -> str:
    """Whether something chooses the nodes of an object's pods later: `Kind.deferral`."""
    suspended = [
        f"object{''.join(f'.?{step}' for step in path)}.orValue(false) == true"
        for path in kind.suspended
        if path != ("spec", "runPolicy", "suspend") or _is_custom(kind)
    ]
    return " || ".join([*suspended, *_labels(kind.labels)]) or "false"


def _is_custom(kind: Kind) -> bool:
    return (kind.group, kind.kind) not in BUILT_IN


_POD = "/Pod"
_WORKLOADS = [each for each in COVERED if not is_pod(each.kind.group, each.kind.kind)]

_CHANGED = let(
    "before",
    "variables.found[1].transformMapEntry(place, one, {one.at: one.content})",
    "variables.found[0].filter(one, !(one.at in before) || before[one.at] != one.content)",
)
"""The pods that an update changes, by their places. A workload that was wrong before can still be scaled."""

KIND: Final = "request.kind.group + '/' + request.kind.kind"
"""The group and the kind of the object, as `CoveredKind.name` writes them."""

_GATES = "{}.?spec.?schedulingGates.orValue([]).size()"
_RELEASED = f"{_GATES.format('oldObject')} > 0 && {_GATES.format('object')} == 0"

VARIABLES: Final[Mapping[str, str]] = {
    "kind": KIND,
    "found": "[dyn(object), dyn(oldObject)].map(root, root == null ? [] : "
    + _by_kind(
        _grouped((each.name, _paths(each.kind.paths)) for each in (COVERED[0], *_WORKLOADS)),
        "[]",
    )
    + ")",
    "deferred": _by_kind(_grouped((each.name, _deferred(each.kind)) for each in _WORKLOADS), "false"),
    "changed": f"oldObject == null ? variables.found[0] : variables.kind == {text(_POD)} ? "
    f"({_RELEASED} ? variables.found[0] : []) : {_CHANGED}",
}
"""`found`: the pods of the object and of the old object. `changed`: the pods to check. `deferred`: nodes come later."""
