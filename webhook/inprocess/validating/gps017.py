"""GPS017: another volume hides the pipe directory."""

from __future__ import annotations

from webhook.inprocess import gates
from webhook.inprocess.cel import elements, in_chunks, let, mapping, message, record
from webhook.inprocess.landing import LANDING_PODS, VARIABLES, candidates
from webhook.inprocess.paths import clean_path
from webhook.inprocess.validating.rule import LANDING, IfAllShare, Rule


def _text(holder: str, field: str) -> str:
    found = f"{holder}[?'{field}'].orValue(dyn(''))"
    return f"[{found}].map(found, type(found) == string ? string(found) : '')[0]"


_MOUNTS_ANY = (
    "one.requests.exists(each, each.name in variables.shared && "
    f"{elements('each.container', 'volumeMounts')}.size() > 0)"
)

_READ = record(
    path=clean_path(_text("mount", "mountPath")),
    volume=_text("mount", "name"),
    inside=_text("mount", "subPath"),
)
_MOUNTS = in_chunks(
    elements("each.container", "volumeMounts"),
    f"chunk.filter(mount, type(mount) == map).map(mount, {_READ})"
    ".filter(mount, mount.path == pipe.path || mount.path.startsWith(pipe.path + '/'))",
)
_HIDING = f"{LANDING_PODS}.map(one, one.requests.map(each, " + let(
    "pipe", "variables.pipes[each.name]", record(request="each", pipe="pipe", hosts="one.place", mounts=_MOUNTS)
)
_HIDING += ")).flatten()"
"""The requests with their pipe directories and the mounts at or below these: half of the cost of the violations."""

_HOST_OF = let("host", _text(mapping("volume", "hostPath"), "path"), f"host == '' ? '' : {clean_path('host')}")
_MOST_HIDING = 30
"""Mounts of a container below the pipe directory that are compared with each other.

The API server rejects a pod with two mounts at a path, so that only paths that are not clean can be equal.
"""

_HOSTS = in_chunks(
    f"{elements('one.spec', 'volumes')}.filter(volume, type(volume) == map)",
    let(
        "names",
        f"chunk.map(volume, {_text('volume', 'name')})",
        let(
            "differ",
            "names.distinct().size() == names.size()",
            "[names.transformMapEntry(place, name, differ || names.indexOf(name) == place, "
            + let("volume", "chunk[place]", f"{{name: {_HOST_OF}}}")
            + ")]",
        ),
    ),
)
"""The directories of the host by the names of volumes, for each chunk of these; empty for a volume of another kind.

The first of a name counts. The API server rejects a pod with two; only custom objects may have them.
"""

_SHOWN = (
    "variables.hosts[one.hosts].filter(hosts, mount.volume in hosts).map(hosts, hosts[mount.volume])[?0]"
    ".orValue(mount.volume == pipe.volume ? pipe.host : '')"
)
"""The host directory behind a mount; empty for a volume of another kind, and where there is no such volume."""

_WANTED = "pipe.host + mount.path.substring(pipe.path.size())"
_FOUND = clean_path("shown + '/' + mount.inside")
_SHOWS = let(
    "shown",
    _SHOWN,
    let(
        "wanted",
        _WANTED,
        "shown != '' && shown.size() <= wanted.size() && !('/' + mount.inside + '/').contains('/../') && "
        f"{_FOUND} == wanted",
    ),
)
"""Whether a mount shows the very directory of the host that it hides."""

_IS_LAST = f"(paths.size() > {_MOST_HIDING} || paths.lastIndexOf(mount.path) == place)"
_OF_REQUEST = let(
    "pipe",
    "one.pipe",
    let(
        "paths",
        "one.mounts.map(mount, mount.path)",
        f"one.mounts.transformList(place, mount, {_IS_LAST} && !{_SHOWS}, "
        f"{record(request='one.request', path='mount.path')})",
    ),
)

RULE = Rule(
    "GPS017",
    f"variables.hiding.map(one, {_OF_REQUEST}).flatten()",
    message(
        "{kind} {} mounts {} over the MPS pipe directory",
        ["violation.request.label", "violation.path"],
        kind="violation.request.kind",
    ),
    "'mount it elsewhere, since the device plugin mounts the pipe directory there'",
    gates.MOUNT,
    LANDING,
    variables={
        **candidates(_MOUNTS_ANY),
        "hosts": f"variables.candidates.map(one, {_HOSTS})",
        **VARIABLES,
        "hiding": _HIDING,
    },
    if_all_share=IfAllShare(),
)
