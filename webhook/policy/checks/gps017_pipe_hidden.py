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
from webhook.policy.pipe import Pipe
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
        and _hides(case, pipe, ask.container.raw["volumeMounts"][index], pipe.clean_host + path[len(pipe.clean) :])
    ]


def _hides(case: Case, pipe: Pipe, mount: Members, host: str) -> bool:
    """Whether a mount shows something else than a folder of the host. Our own volume may still have to be made."""
    for number, volume in enumerate(case.pod.elements("volumes")):
        if volume.get("name") == mount.get("name"):
            path: Path = (*case.pod.spec_path, "volumes", number)
            source = members(volume, "hostPath", path)
            shown = text(source, "path", (*path, "hostPath"))
            return not shown or clean_path(f"{shown}/{mount.get('subPath') or ''}") != host
    return mount.get("name") != pipe.volume


CHECK = Check("GPS017", Severity.DENY, Scope.MPS, run, __doc__)
