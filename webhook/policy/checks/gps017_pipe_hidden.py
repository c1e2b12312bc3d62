"""Another volume hides the pipe directory."""

from __future__ import annotations

from webhook.policy.checks.check import about
from webhook.policy.context import PodContext
from webhook.policy.pods.pod import clean_path
from webhook.policy.pods.reading import members, text
from webhook.policy.verdict import Path, Violation, Violations


def run(context: PodContext) -> Violations:
    """One violation per mount that hides the directory."""
    pod = context.pod
    hosts: dict[str, str] = {}  # by volume, so that a long path behind many mounts is normalised once
    for request in context.mps_requests:
        container, pipe = request.container, context.policy.pipes[request.resource.name]
        for path, index in container.mounts.items():
            if path != pipe.clean and not path.startswith(pipe.below):
                continue
            mount, place = container.raw["volumeMounts"][index], (*container.path, "volumeMounts", index)
            name, inside = text(mount, "name", place), text(mount, "subPath", place)
            number = pod.volumes.get(name)
            if number is not None and name not in hosts:
                volume: Path = (*pod.path_of("volumes"), number)
                source = members(pod.spec["volumes"][number], "hostPath", volume)
                there = text(source, "path", (*volume, "hostPath"))
                hosts[name] = clean_path(there) if there else ""
            shown = hosts.get(name)  # empty for a volume of another kind
            if shown is None and name == pipe.volume:
                shown = pipe.clean_host  # the injected volume, which may still be missing
            host = pipe.clean_host + path[len(pipe.clean) :]
            # A mount of the same host directory hides nothing. The API server rejects `..` inside.
            is_other = not shown or len(shown) > len(host) or "/../" in f"/{inside}/"
            if is_other or clean_path(f"{shown}/{inside}") != host:
                problem = about(container, "mounts {} over the MPS pipe directory", path)
                remedy = "mount it elsewhere, since the device plugin mounts the pipe directory there"
                yield Violation((*place, "mountPath"), problem, remedy)
