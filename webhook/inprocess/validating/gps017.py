"""GPS017: another volume hides the pipe directory."""

from __future__ import annotations

from webhook.inprocess import gates
from webhook.inprocess.cel import elements, in_chunks, let, mapping, message, record
from webhook.inprocess.landing import LANDING_PODS, candidates
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
_HIDING = in_chunks(
    elements("each.container", "volumeMounts"),
    f"chunk.filter(mount, type(mount) == map).map(mount, {_READ})"
    ".filter(mount, mount.path == pipe.path || mount.path.startsWith(pipe.path + '/'))",
)
_VOLUMES = (
    f"{elements('one.spec', 'volumes')}.filter(volume, type(volume) == map && "
    f"{_text('volume', 'name')} == mount.volume)"
)
_HOST_OF = let("host", _text(mapping("volumes[0]", "hostPath"), "path"), f"host == '' ? '' : {clean_path('host')}")
_SHOWN = let(
    "volumes",
    _VOLUMES,
    f"volumes.size() > 0 ? {_HOST_OF} : mount.volume == pipe.volume ? pipe.host : ''",
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

_IS_LAST = "!hiding.slice(place + 1, hiding.size()).exists(other, other.path == mount.path)"
_OF_REQUEST = let(
    "pipe",
    "variables.pipes[each.name]",
    let(
        "hiding",
        _HIDING,
        f"hiding.transformList(place, mount, {_IS_LAST} && !{_SHOWS}, {record(request='each', path='mount.path')})",
    ),
)

RULE = Rule(
    "GPS017",
    f"{LANDING_PODS}.map(one, one.requests.map(each, {_OF_REQUEST})).flatten(2)",
    message(
        "{kind} {} mounts {} over the MPS pipe directory",
        ["violation.request.label", "violation.path"],
        kind="violation.request.kind",
    ),
    "'mount it elsewhere, since the device plugin mounts the pipe directory there'",
    gates.MOUNT,
    LANDING,
    variables=candidates(_MOUNTS_ANY),
    if_all_share=IfAllShare(),
)
