"""Another volume hides the pipe directory.

Reads: `volumeMounts` and `volumes` of containers that ask for a replica.
Why: a volume of the pod at or below the pipe directory lies on top of the device plugin's mount, so the client finds no
daemon. A mount above it, such as the whole MPS root at `/mps`, is harmless: the plugin's lies below it.
Remedy: mount the volume elsewhere.
"""

from __future__ import annotations

from webhook.policy.case import Case
from webhook.policy.check import Check, Claims, Scope
from webhook.policy.demand import Ask
from webhook.policy.pod import Members, clean_path, members, text
from webhook.policy.verdict import Claim, Path, Severity
from webhook.policy.wording import message


def run(case: Case) -> Claims:
    """One claim a mount that hides the directory."""
    return [
        Claim(
            (*ask.container.path, "volumeMounts", index, "mountPath"),
            message(f"{ask.container.kind} {{}} mounts {{}} over the MPS pipe directory", ask.container.name, path),
            "mount it elsewhere, since the device plugin mounts the pipe directory there",
        )
        for ask in case.mps
        for path, index in _hiding(case, ask)
    ]


def _hiding(case: Case, ask: Ask) -> list[tuple[str, int]]:
    pipe = case.rules.pipes[ask.resource.name]
    return [
        (path, index)
        for path, index in ask.container.mounts.items()
        if (path == pipe.clean or path.startswith(pipe.clean + "/"))
        and _source(case, ask, index) != pipe.clean_host + path[len(pipe.clean) :]
    ]


def _source(case: Case, ask: Ask, index: int) -> str | None:
    """The host's path behind a mount, or None when it is not a host's."""
    mount: Members = ask.container.raw["volumeMounts"][index]
    for number, volume in enumerate(case.pod.elements("volumes")):
        if volume.get("name") == mount.get("name"):
            path: Path = (*case.pod.spec_path, "volumes", number)
            source = members(volume, "hostPath", path)
            host = text(source, "path", (*path, "hostPath"))
            return clean_path(f"{host}/{mount.get('subPath') or ''}") if host else None
    return None


CHECK = Check("GPS017", Severity.DENY, Scope.MPS, run, __doc__)
