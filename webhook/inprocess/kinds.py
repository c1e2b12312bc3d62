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
from webhook.policy.workloads.paths import never, repeats
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


_REPEATED: Final = "*"
"""The step to every element of a list, or member of a mapping, in the text of a path."""

_PATHS: Final = {
    each.name: ["/".join(_REPEATED if repeats(step) else step for step in path.steps) for path in each.kind.paths]
    for each in COVERED
}
"""The paths to the pods of each kind: the steps with `/` between them."""

_POD_SPECS: Final = [each.name for each in COVERED if all(path.holds == "podSpec" for path in each.kind.paths)]
"""The kinds whose paths lead to pod specs. Those of the others lead to templates."""

_PARTS: Final = [
    [part.strip("/").split("/") if part.strip("/") else [] for part in path.split(_REPEATED)]
    for paths in _PATHS.values()
    for path in paths
]
_MOST_PARTS: Final = max(len(parts) for parts in _PARTS)
_MOST_STEPS: Final = max(len(part) for parts in _PARTS for part in parts)


def _below(at: str, steps: str) -> str:
    """The value to which a list of steps leads; null where there is none. CEL has no loop that follows them."""
    cases = []
    for count in range(1, _MOST_STEPS + 1):
        found = "".join(f"[?{steps}[{place}]]" for place in range(count))
        cases.append(f"{steps}.size() == {count} ? {at}{found}.orValue(dyn(null)) : ")
    return f"({''.join(cases)}{at})"


def _place(at: str, parts: str, held: str) -> str:
    return record(at=at, parts=parts, held=held)


_START = _place("string(place)", "parts", _below("root", "parts[0]"))
_FIRST = (
    "[dyn(object), dyn(oldObject)].map(root, root == null ? [] : "
    f"variables.paths.transformList(place, parts, {_START}))"
)


def _next(variable: str, part: int) -> str:
    """The places to which the next part of each path leads, which begins at a list or a mapping."""
    inner = _place("one.at + '/' + string(key)", "one.parts", _below("each", f"one.parts[{part}]"))
    every = f"one.held.transformList(key, each, type(each) == map, {inner})"
    return (
        f"variables.{variable}.map(places, places.map(one, one.parts.size() <= {part} ? [one] : "
        f"type(one.held) == list || type(one.held) == map ? {every} : []).flatten())"
    )


_CONTENT = f"one.held.transformMap(field, value, field in {literal([*FIELDS, 'containers', 'initContainers'])}, value)"
"""The fields of a pod spec that belong to a pod: a mapping of a custom kind may hold others."""

_OF_SPEC = record(at="one.at", pod="{'spec': one.held}", content=_CONTENT)
_OF_TEMPLATE = record(at="one.at", pod="one.held", content="one.held")


def _found() -> dict[str, str]:
    """The variables that lead to the pods, part by part of their paths."""
    names = [f"places{part}" for part in range(_MOST_PARTS)]
    made = f"variables.kind in {literal(_POD_SPECS)} ? {_OF_SPEC} : {_OF_TEMPLATE}"
    return {
        "paths": f"{literal(_PATHS)}[?variables.kind].orValue([])"
        f".map(path, path.split('{_REPEATED}').map(part, part.split('/').filter(step, step != '')))",
        names[0]: _FIRST,
        **{name: _next(names[part], part + 1) for part, name in enumerate(names[1:])},
        "found": f"variables.{names[-1]}.map(places, places.filter(one, type(one.held) == map).map(one, {made}))",
    }


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
    **_found(),
    "deferred": _by_kind(_grouped((each.name, _deferred(each.kind)) for each in _WORKLOADS), "false"),
    "changed": f"oldObject == null ? variables.found[0] : variables.kind == {text(_POD)} ? "
    f"({_RELEASED} ? variables.found[0] : []) : {_CHANGED}",
}
"""`places0` and so on: where the parts of the paths lead. `found`: the pods of the object and of the old object.
`changed`: the pods to check. `deferred`: nodes come later."""
