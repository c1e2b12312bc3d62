"""Tolerations for pods that request a GPU: `webhook.policy.injections.tolerations`, and those that an update drops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from webhook.inprocess.injecting.clients import asks_for, names_asked

# An own toleration covers a wanted one if it permanently tolerates every taint that the wanted one does.
_COVERS = """!has(t.tolerationSeconds) && t.?effect.orValue('') in [dyn(''), w.?effect.orValue('')]
&& (t.?operator.orValue('Equal') == 'Exists' ? t.?key.orValue('') in [dyn(''), w.key]
: t.?operator.orValue('Equal') == 'Equal' && w.operator == 'Equal' && t.?key.orValue('') == w.key
&& t.?value.orValue('') == w.?value.orValue(''))"""

_RENAMED = f"""variables.options.tolerateRenamed != 'true' ? [] : variables.containers.filter(c, {asks_for("renamed")})
.map(c, {names_asked("renamed")}).flatten().distinct()
.map(n, {{'key': dyn(n), 'operator': dyn('Exists'), 'effect': dyn('NoSchedule')}})"""

COVERED: Final = f"object.spec.?tolerations.orValue([]).exists(t, {_COVERS})"
"""Whether an own toleration covers the wanted one `w`."""

# `key|effect` of the taints of known nodes that the settings allow to tolerate.
FROM_NODES: Final = """variables.parameters[?'tolerations'].orValue('').split(';').filter(e, e != '')
.map(e, {'key': dyn(e.split('|')[0]), 'operator': dyn('Exists'), 'effect': dyn(e.split('|')[1])})"""

VARIABLES: Final[Mapping[str, str]] = {
    "tolerated": f"!variables.asks ? [] : variables.tolerations + ({_RENAMED})\n+ {FROM_NODES}",
    "untolerated": f"""variables.tolerated.transformList(i, w,
!{COVERED}
&& !variables.tolerated.slice(0, i).exists(t, {_COVERS}), w)""",
    # Of the wanted ones, those that the pod had and that the update lacks, member by member.
    "lost": """variables.tolerated.filter(w, oldObject.spec.?tolerations.orValue([]).exists(t, t == w)
&& !object.spec.?tolerations.orValue([]).exists(t, t == w))""",
}


def operations(variable: str) -> str:
    """The operations that add the tolerations of a variable."""
    return f"""(variables.{variable}.size() == 0 ? [] : has(object.spec.tolerations)
? variables.{variable}.map(w, JSONPatch{{op: 'add', path: '/spec/tolerations/-', value: w}})
: [JSONPatch{{op: 'add', path: '/spec/tolerations', value: variables.{variable}}}])"""
