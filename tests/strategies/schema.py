"""Any object that a schema of the Kubernetes API allows, by the models of the `kubernetes` package.

Members are drawn sparsely; `often` and `values` say which come more often and what stands in them. Null members and
fields that no schema knows yet come at every level.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from hypothesis import strategies as st
from kubernetes.client import models

Strategy = st.SearchStrategy[Any]

JSON: Strategy = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "x", "nvidia.com/gpu"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "b~/c"]), inner, max_size=2),
    max_leaves=4,
)

_WORDS = ["", "a", "Always", "nvidia", "x/y~z", "\u202eabc", "é", "$(A)"]

_PRIMITIVES: Mapping[str, Strategy] = {
    "str": st.sampled_from(_WORDS) | st.text(max_size=6),
    "int": st.sampled_from([0, 1, -1, 1000, 2**31, 2**63 - 1, -(2**63)]) | st.integers(-(2**63), 2**63 - 1),
    "bool": st.booleans(),
    "datetime": st.just("2026-11-20T21:04:02Z"),
    "object": st.sampled_from([8080, "http", {}, None]),
}

_LIST = re.compile(r"List\[(.+)\]|list\[(.+)\]")
_DICT = re.compile(r"Dict[(\[]str, (.+)[)\]]|dict[(\[]str, (.+)[)\]]")


class Schema:
    """Strategies for models. `often`: members by model that are drawn half of the time, the rest seldom.

    `values`: strategies by model and member, in place of what the schema says.
    """

    def __init__(self, often: Mapping[str, tuple[str, ...]], values: Mapping[tuple[str, str], Strategy]) -> None:
        self._often = often
        self._values = values
        self.model = cache(self._model)

    def _model(self, name: str) -> Strategy:
        members = {key: self._member(name, key, kind) for key, kind in fields(name).items()}
        often = {key: members[key] for key in self._often.get(name, ())}
        return _instances(often, {key: members[key] for key in members.keys() - often.keys()})

    def _member(self, model: str, key: str, kind: str) -> Strategy:
        given = self._values.get((model, key))
        return self._of(kind) if given is None else given

    def _of(self, kind: str) -> Strategy:
        if kind in _PRIMITIVES:
            return _PRIMITIVES[kind]
        if match := _LIST.fullmatch(kind):
            return st.lists(self._of(match.group(1) or match.group(2)), max_size=2)
        if match := _DICT.fullmatch(kind):
            inner = self._of(match.group(1) or match.group(2)) | st.none()
            return st.dictionaries(st.sampled_from(_WORDS), inner, max_size=2)
        return st.deferred(lambda: self.model(kind))


@cache
def fields(model: str) -> Mapping[str, str]:
    """The members of a model, as JSON names them, with their types."""
    made = getattr(models, model)
    return {made.attribute_map[name]: kind for name, kind in sorted(made.openapi_types.items())}


@st.composite
def _instances(draw: st.DrawFn, often: Mapping[str, Strategy], seldom: Mapping[str, Strategy]) -> dict[str, Any]:
    members: dict[str, Any] = draw(st.fixed_dictionaries({}, optional=dict(often)))
    names = sorted(seldom)
    if names:
        for key in draw(st.lists(st.sampled_from(names), max_size=1 if often else 2, unique=True)):
            members[key] = draw(seldom[key])
    match draw(st.integers(0, 15)):
        case 0:
            members[draw(st.sampled_from([*names, *sorted(often)]))] = None
        case 1:
            members["fieldOfTheFuture"] = draw(JSON)
    return members
