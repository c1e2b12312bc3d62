"""The mutation that makes all injections of a pod in one patch, as the webhook does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from webhook.inprocess.injecting import clients, limits, pipe_directory, pipe_mount, runtime_class, tolerations
from webhook.inprocess.injecting.clients import listed, sets
from webhook.policy.injections.pipe_mount import SAFE_TO_EVICT
from webhook.policy.mark import INJECTED
from webhook.policy.verdict import MOST_EDITS

# The entries that each client lacks.
_ENTRIES = f"""variables.clients.map(k, ({pipe_directory.ENTRIES} + variables.annotatedLimits)
.filter(e, !({sets("k.container", "e.name")})))"""

_ENV_OPERATIONS = """lists.range(variables.clients.size()).filter(i, variables.entries[i].size() > 0)
.map(i, has(variables.clients[i].container.env)
? variables.entries[i].map(e, JSONPatch{op: 'add', path: variables.clients[i].at + '/env/-', value: e})
: [JSONPatch{op: 'add', path: variables.clients[i].at + '/env', value: variables.entries[i]}]).flatten()"""

# In the order of `webhook.policy.injections.ALL`.
_INJECTED = f"""(variables.lacksClass ? ['runtimeClass'] : [])
+ ({pipe_directory.IS_ADDED} ? ['pipeDirectory'] : []) + ({limits.IS_ADDED} ? ['limits'] : [])
+ (variables.mounting.size() > 0 ? ['pipeMount'] : []) + (variables.untolerated.size() > 0 ? ['tolerations'] : [])"""

_EDITS = f"""(variables.lacksClass ? 1 : 0) + variables.entries.map(l, l.size()).sum()
+ {pipe_mount.EDITS} + variables.untolerated.size()"""


def _extended(key: str, names: str) -> str:
    """The annotation of a key with further names, as a list; an empty list if no name is missing."""
    return f"""[{names}].filter(l, l.size() > 0).map(l, {{'key': '{key}',
'value': [variables.annotations[?'{key}'].orValue('')].filter(t, t != '').map(t, t + ',').join('') + l.join(',')}})"""


_MARK = f"""variables.options.annotate != 'true' ? [] :
[{listed(INJECTED)}].map(l, variables.injected.filter(n, !(n in l)))[0]"""

VARIABLES: Final[Mapping[str, str]] = {
    **clients.VARIABLES,
    **limits.VARIABLES,
    "entries": _ENTRIES,
    **pipe_mount.VARIABLES,
    **tolerations.VARIABLES,
    **runtime_class.VARIABLES,
    "injected": _INJECTED,
    "mark": _MARK,
    "extended": f"{_extended(SAFE_TO_EVICT, 'variables.evicted')}\n+ {_extended(INJECTED, 'variables.mark')}",
}

_ANNOTATION_OPERATIONS = """(variables.extended.size() == 0 ? [] : has(object.metadata.annotations)
? variables.extended.map(a, JSONPatch{op: 'add',
path: '/metadata/annotations/' + jsonpatch.escapeKey(a.key), value: a.value})
: [JSONPatch{op: 'add', path: '/metadata/annotations',
value: variables.extended.transformMapEntry(i, a, {a.key: a.value})}])"""

EXPRESSION = f"""{_EDITS} > {MOST_EDITS} ? [] : {runtime_class.OPERATIONS}
+ {_ENV_OPERATIONS}
+ {pipe_mount.OPERATIONS}
+ {tolerations.operations("untolerated")}
+ {_ANNOTATION_OPERATIONS}"""
"""The operations. None where the pod needs too many."""
