"""Whether a pod could land on nodes that share their cards, as its selectors show: `webhook.policy.placement.selector`.

A class of nodes is a list of constraints on labels. `values` holds a list of the only values, or nothing; `above` a
number, or nothing. A requirement holds the node selector and, where the pod has required affinity, its terms.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from webhook.inprocess.cel import elements, let, mapping, record, text
from webhook.inprocess.pods import is_mig
from webhook.policy.placement.node_classes import CAPABLE, PRODUCT, REPLICAS, SHARED, STRATEGY
from webhook.policy.placement.selector import AFFINITY, ANALYSED, FIELD, TERMS


def _constraint(
    key: str,
    values: str = "[]",
    excluded: str = "[]",
    above: str = "[]",
    suffix: str = "",
    but: str = "",
    *,
    absent: bool,
) -> str:
    return record(
        key=key,
        values=values,
        excluded=excluded,
        above=above,
        suffix=text(suffix),
        but=text(but),
        absent=str(absent).lower(),
    )


def _is_set_by_plugin(labels: str) -> str:
    return f"({text(STRATEGY)} in {labels} || {text(CAPABLE)} in {labels})"


def _sharing() -> str:
    """The labels of nodes that share their cards, as `SharingClass`, for each strategy and kind of name."""
    certain = _constraint("key", "[[labels[key]]]", absent=False)
    by_name = _constraint(text(PRODUCT), suffix=SHARED, absent=False)
    replicas = _constraint(text(REPLICAS), above="[1]", absent=False)
    is_found = f"key == {text(REPLICAS)} || key == {text(PRODUCT)} && !renamed"
    labels = (
        f"labels.filter(key, !({_is_set_by_plugin('labels')} && ({is_found}))).map(key, {certain}) + "
        f"(!{_is_set_by_plugin('labels')} ? [] : [{replicas}] + (renamed ? [] : [{by_name}]))"
    )
    return (
        "[variables.mpsLabels, variables.timeSlicingLabels].map(labels, [false, true].map(renamed, "
        f"{labels})).flatten()"
    )


_KEYS = "(variables.mpsLabels.map(key, key) + variables.timeSlicingLabels.map(key, key))"
_VALUES = (
    "[variables.mpsLabels, variables.timeSlicingLabels].filter(labels, key in labels).map(labels, labels[key])"
    ".distinct().sort()"
)
_WHOLE_DISCOVERED = ", ".join(
    [
        _constraint(text(REPLICAS), "[['0', '1']]", absent=True),
        _constraint(text(PRODUCT), but=SHARED, absent=True),
    ]
)
_WHOLE = (
    f"variables.marking.map(key, {_constraint('key', excluded=_VALUES, absent=True)}) + "
    f"({_is_set_by_plugin('variables.marking')} ? "
    f"[{_WHOLE_DISCOVERED}].filter(c, !(c.key in variables.marking)) : [])"
)
"""The labels of nodes with whole cards, as `NodeClasses.whole`."""

_FREE = _constraint("''", absent=True)

_NUMBER = "matches('^[+-]?0*([0-9]{1,18}|[1-8][0-9]{18})$')"
"""Whether a text is a number of 64 bits, as `integer` reads it; those near the largest one count as none."""


def _held(expressions: str, value: str) -> str:
    """Whether all expressions about one label hold for a value of it."""
    return (
        f"{expressions}.all(e, e.op == 'In' ? {value} in e.values : e.op == 'NotIn' ? !({value} in e.values) : "
        f"e.op == 'Gt' ? {value}.{_NUMBER} && int({value}) > int(e.values[0]) : "
        f"e.op == 'Lt' ? {value}.{_NUMBER} && int({value}) < int(e.values[0]) : e.op != 'DoesNotExist')"
    )


def _allows(value: str) -> str:
    """Whether the constraint `c` of a class allows a value, as `Constraint.holds`."""
    return (
        f"c.values.all(values, {value} in values) && !({value} in c.excluded) && {value}.endsWith(c.suffix) && "
        f"(c.but == '' || !{value}.endsWith(c.but)) && c.above.all(n, {value}.{_NUMBER} && int({value}) > n)"
    )


_BETWEEN = (
    "(c.excluded + same.filter(e, e.op == 'NotIn').map(e, e.values).flatten())"
    f".filter(v, v.{_NUMBER} && int(v) > low && int(v) < high).map(v, int(v)).distinct().size()"
)
_ROOM = let(
    "low",
    "lows.max()",
    let(
        "high",
        "highs.min()",
        let("count", _BETWEEN, "low < 9000000000000000000 ? low + count + 1 < high : high - low - 1 > count"),
    ),
)
_NUMBERS = let(
    "lows",
    "c.above + same.filter(e, e.op == 'Gt').map(e, int(e.values[0]))",
    let(
        "highs",
        "same.filter(e, e.op == 'Lt').map(e, int(e.values[0]))",
        "lows.size() == 0 && highs.size() == 0 || "
        f"c.suffix == '' && (lows.size() == 0 || highs.size() == 0 || {_ROOM})",
    ),
)
_AGREES = "c.absent && same.all(e, e.op in ['NotIn', 'DoesNotExist', '']) || " + let(
    "candidates",
    "same.filter(e, e.op == 'In').map(e, e.values) + c.values",
    f"candidates.size() > 0 ? candidates[0].exists(v, {_held('same', 'v')} && {_allows('v')}) : "
    f"!same.exists(e, e.op == 'DoesNotExist') && {_NUMBERS}",
)
"""Whether the expressions `same` about one label agree with the constraint `c`, as `Constraint.agrees_with`."""

_SAME = (
    "term.filter(other, other.key == e.key) + "
    f"(e.key in need.selector ? [{record(key='e.key', op=text('In'), values='[need.selector[e.key]]')}] : [])"
)
_TERM = (
    "term.all(e, "
    + let("same", _SAME, let("c", f"(class.filter(c, c.key == e.key) + [{_FREE}])[0]", f"({_AGREES})"))
    + ")"
)
_SATISFIABLE = (
    f"class.all(c, !(c.key in need.selector) || [need.selector[c.key]].all(v, {_allows('v')})) && "
    f"need.terms.all(terms, terms.exists(term, {_TERM}))"
)
"""Whether a node of a `class` could satisfy a requirement `need`, as `Requirement.satisfiable`."""

_EXPRESSION = record(
    key="prefix + e[?'key'].orValue('')",
    op="[e[?'operator'].orValue('')].map(op, op in ['In', 'NotIn', 'Exists', 'DoesNotExist'] || op in ['Gt', 'Lt'] && "
    f"listed.size() == 1 && listed[0].{_NUMBER} ? op : '')[0]",
    values="listed",
)


def _expressions(field: str, prefix: str) -> str:
    listed = let("listed", elements("e", "values"), _EXPRESSION)
    return f"[{text(prefix)}].map(prefix, {elements('term', field)}.map(e, {listed}))[0]"


_TERMS = (
    f"{elements('required', TERMS)}.map(term, {_expressions('matchExpressions', '')} + "
    f"{_expressions('matchFields', FIELD)}).filter(term, term.size() > 0)"
)
_SIZE = "terms.map(term, term.map(e, 1 + e.values.size()).sum()).sum()"


def _need(spec: str) -> str:
    """The requirement of a pod spec. One that is too large to analyse counts as none, as in the webhook."""
    required = mapping(spec, *AFFINITY)
    terms = (
        f"[{required}].filter(required, required.size() > 0).map(required, {_TERMS})"
        f".filter(terms, {_SIZE} <= {ANALYSED})"
    )
    return record(selector=mapping(spec, "nodeSelector"), terms=terms)


_POSSIBLE = (
    "variables.needs.map(need, need.selector.size() == 0 && need.terms.size() == 0 ? [true, true, true, true, true] : "
    f"variables.classes.map(class, {_SATISFIABLE}))"
)
_LANDINGS = "variables.candidates.transformList(place, one, [variables.possible[place]].map(possible, {})[0])".format(
    let(
        "mig",
        f"one.requests.exists(each, {is_mig('each.name')})",
        record(
            mps="possible[0] && !mig",
            mpsRenamed="possible[1] && !mig",
            timeSlicing="variables.timeSlicingLabels.size() > 0 && possible[2]",
            timeSlicingRenamed="variables.timeSlicingLabels.size() > 0 && possible[3]",
            whole="possible[4]",
        ),
    )
)

VARIABLES: Final[Mapping[str, str]] = {
    "marking": f"{_KEYS}.distinct().sort()",
    "classes": f"{_sharing()} + [{_WHOLE}]",
    "needs": f"variables.candidates.map(one, {_need('one.spec')})",
    "possible": _POSSIBLE,
    "landings": _LANDINGS,
    "wholeCards": "["
    + f"variables.marking.map(key, key + ' NotIn [' + {_VALUES}.map(value, '\"' + value + '\"').join(', ') + ']')"
    ".join(' and ')].map(spelled, spelled.size() <= 200 ? spelled : "
    "'NotIn for each label of placement.mpsLabels and timeSlicingLabels')[0]",
}
"""`marking`: the labels that mark sharing nodes. `classes`: MPS nodes for a resource of the card's own name and for a
renamed one, time-slicing nodes likewise, and nodes with whole cards. `needs`: the requirements of the pods in
`candidates`. `possible`: for each, whether a node of each class satisfies it. `landings`: the same, by the names of the
classes. `wholeCards`: affinity for nodes with whole cards, in words."""


def lands(pod: str, name: str, *, time_slicing: bool = False) -> str:
    """Whether a pod with `lands` could land on nodes that share the resource of a name."""
    strategy = "timeSlicing" if time_slicing else "mps"
    return f"({name} in variables.renamed ? {pod}.lands.{strategy}Renamed : {pod}.lands.{strategy})"


def candidates(condition: str) -> dict[str, str]:
    """The variable of the pods whose selectors are read. `condition` about `one` keeps those of most pods unread."""
    return {"candidates": f"variables.asking.filter(one, {condition})"}


_SHARED = f"each.name in variables.shared && {lands('one', 'each.name')}"
LANDING_PODS: Final = (
    "variables.candidates.transformList(place, one, "
    + record(spec="one.spec", requests="one.requests", lands="variables.landings[place]", place="place")
    + ").map(one, "
    + record(spec="one.spec", lands="one.lands", place="one.place", requests=f"one.requests.filter(each, {_SHARED})")
    + ").filter(one, one.requests.size() > 0)"
)
"""The candidates that could land on an MPS node, with their places and the requests that they could land with."""

IS_FIRST: Final = "(place == 0 || one.requests[place - 1].place != each.place)"
"""Whether the request `each` at a `place` is the first of its container. Those of a container are adjacent."""
