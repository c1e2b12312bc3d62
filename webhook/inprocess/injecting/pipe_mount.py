"""The mount of the pipe directory: `webhook.policy.injections.pipe_mount`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from webhook.inprocess.injecting.clients import listed, sets
from webhook.inprocess.paths import clean_path
from webhook.policy.injections.pipe_mount import SAFE_TO_EVICT
from webhook.policy.pods.pod import PIPE_DIRECTORY
from webhook.policy.rules import ENFORCE_LABEL

_STEM = "find('^.{0,58}')"
"""The part of a volume's name that leaves room for a number, as in the webhook."""

_MOST_NAMES = 100
"""Volumes of the pod whose names begin like that of the mount; with more of them, the policies inject nothing."""

# As the hooks decide: with `unlabelled: privileged`, any level but the two strict ones allows hostPath volumes.
_ALLOWS_HOST_PATH = f"""[namespaceObject.metadata.?labels[?'{ENFORCE_LABEL}'].orValue(variables.options.unlabelled)]
.exists(l, l == 'privileged' || variables.options.unlabelled == 'privileged' && !(l in ['baseline', 'restricted']))"""

_MOST_UNCLEAN = 100
"""Mount paths of a container that are not clean; in a longer list, none is compared."""

_MOST_SUPERFLUOUS = 10
"""Characters by which such a path may be longer than the pipe directory: to clean 2,000 long ones takes seconds."""

_MOUNTS = f"""has(k.container.volumeMounts) && [variables.clean[k.resource]].exists(path,
k.container.volumeMounts.exists(m, m.mountPath == path)
|| [k.container.volumeMounts.filter(m, m.mountPath.size() <= path.size() + {_MOST_SUPERFLUOUS}
&& m.mountPath.matches('^[^/]|//|/\\\\.|/$'))].exists(l, l.size() <= {_MOST_UNCLEAN}
&& l.exists(m, {clean_path("m.mountPath")} == path)))"""

_SOURCE = """(variables.options.hostPathType == '' ? {'path': dyn(p.host)}
: {'path': dyn(p.host), 'type': dyn(variables.options.hostPathType)})"""

VARIABLES: Final[Mapping[str, str]] = {
    "clean": f"variables.landing.transformMapEntry(i, n, {{n: {clean_path('variables.pipes[n].path')}}})",
    # The clients that get a mount: those that set no pipe directory of their own and mount nothing there.
    "mounting": f"""variables.options.pipeMount != 'true' || !{_ALLOWS_HOST_PATH} ? [] :
variables.clients.filter(k, !({sets("k.container", f"'{PIPE_DIRECTORY}'")}) && !({_MOUNTS}))""",
    # Their pipe directories in the order of their first use, each name of a volume once.
    "mounted": """[variables.mounting.map(k, k.resource)]
.map(l, variables.landing.filter(n, n in l).sortBy(n, l.indexOf(n)).map(n, variables.pipes[n]))[0]
.map(p, p.volume).distinct()""",
    # These names with the source of the volume, and with the volumes of the pod that have such a name.
    "wanted": f"""variables.mounted.map(l, [variables.mounting.map(k, variables.pipes[k.resource])
.filter(p, p.volume == l)[0]].map(p, {{'label': dyn(l), 'source': dyn({_SOURCE}), 'own': dyn(
object.spec.?volumes.orValue([]).filter(v, v.name.startsWith(l.{_STEM})))}})[0])""",
    # The same with a name that is free, or that a volume with this source has.
    "volumes": f"""variables.wanted.map(w, {{'label': w.label, 'source': w.source, 'own': w.own,
'name': dyn(lists.range([w.own.size(), {_MOST_NAMES}].min() + 1)
.map(n, n == 0 ? w.label : w.label.{_STEM} + '-' + string(n + 1))
.filter(n, !w.own.exists(v, v.name == n && v.?hostPath.orValue({{}}) != w.source))[0])}})
.map(w, {{'label': w.label, 'source': w.source, 'name': w.name, 'isNew': dyn(!w.own.exists(v, v.name == w.name))}})""",
    "evicted": f"""variables.options.safeToEvict != 'true' ? [] :
[{listed(SAFE_TO_EVICT)}.map(n, n.trim())].map(l, variables.volumes.map(v, v.name).filter(n, !(n in l)))[0]""",
}
"""The variables, each with its expression."""

_VOLUME = "{'name': dyn(w.name), 'hostPath': dyn(w.source)}"
_NEW = "variables.volumes.filter(w, w.isNew)"
_NAME = "variables.volumes.filter(w, w.label == variables.pipes[k.resource].volume)[0].name"
_MOUNT = f"""(variables.options.readOnly == 'true'
? {{'name': dyn({_NAME}), 'mountPath': dyn(variables.pipes[k.resource].path), 'readOnly': dyn(true)}}
: {{'name': dyn({_NAME}), 'mountPath': dyn(variables.pipes[k.resource].path)}})"""

EDITS = f"variables.mounting.size() + {_NEW}.size() + variables.evicted.size()"
"""The number of its edits."""

OPERATIONS = f"""({_NEW}.size() == 0 ? [] : has(object.spec.volumes)
? {_NEW}.map(w, JSONPatch{{op: 'add', path: '/spec/volumes/-', value: {_VOLUME}}})
: [JSONPatch{{op: 'add', path: '/spec/volumes', value: {_NEW}.map(w, {_VOLUME})}}])
+ variables.mounting.map(k, has(k.container.volumeMounts)
? JSONPatch{{op: 'add', path: k.at + '/volumeMounts/-', value: {_MOUNT}}}
: JSONPatch{{op: 'add', path: k.at + '/volumeMounts', value: [{_MOUNT}]}})"""
"""The operations that add volumes and mounts."""
