"""Another volume hides the pipe directory."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.messages import message
from webhook.policy.pods.pod import Container, Pod, clean_path
from webhook.policy.pods.reading import members, text
from webhook.policy.rules import Pipe
from webhook.policy.verdict import Path, Severity, Violation


def run(context: PodContext) -> Violations:
    """One violation per mount that hides the directory."""
    hosts = _HostPaths(context.pod)
    return (
        Violation(
            (*request.container.path, "volumeMounts", index, "mountPath"),
            message(
                f"{request.container.kind} {{}} mounts {{}} over the MPS pipe directory", request.container.label, path
            ),
            "mount it elsewhere, since the device plugin mounts the pipe directory there",
        )
        for request in context.mps_requests
        for path, index in _hiding(context.rules.pipes[request.resource.name], request.container, hosts)
    )


def _hiding(pipe: Pipe, container: Container, hosts: _HostPaths) -> Iterator[tuple[str, int]]:
    for path, index in container.mounts.items():
        if path == pipe.clean or path.startswith(pipe.below):
            mount, place = container.raw["volumeMounts"][index], (*container.path, "volumeMounts", index)
            name, inside = text(mount, "name", place), text(mount, "subPath", place)
            shown = hosts.of(name)
            if shown is None and name == pipe.volume:
                shown = pipe.clean_host  # the injected volume, which may still be missing
            if not _shows(shown, inside, pipe.clean_host + path[len(pipe.clean) :]):
                yield path, index


def _shows(shown: str | None, inside: str, host: str) -> bool:
    """Whether a path inside a volume is the given host directory. The API server rejects `..` inside."""
    if not shown or len(shown) > len(host) or "/../" in f"/{inside}/":
        return False
    return clean_path(f"{shown}/{inside}") == host


class _HostPaths:
    """The host directories behind the volumes of a pod, each normalised once."""

    __slots__ = ("_cleaned", "_pod")

    def __init__(self, pod: Pod) -> None:
        self._pod = pod
        self._cleaned: dict[str, str] = {}

    def of(self, name: str) -> str | None:
        """The directory of a volume; empty for a volume of another kind, None if there is no such volume."""
        number = self._pod.volumes.get(name)
        if number is None:
            return None
        shown = self._cleaned.get(name)
        if shown is None:
            path: Path = (*self._pod.path_of("volumes"), number)
            host = text(members(self._pod.spec["volumes"][number], "hostPath", path), "path", (*path, "hostPath"))
            shown = self._cleaned[name] = clean_path(host) if host else ""
        return shown


CHECK = Check("GPS017", Severity.DENY, Scope.MPS, run, "Another volume hides the pipe directory")
