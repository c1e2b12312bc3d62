"""A real cluster shows a pod storm without the webhook, and with it a denial and a Deployment that works.

`python -m tests.cluster.demo` leaves nothing behind but `build/pod-storm.json` and `build/pod-storm.svg`. With `--keep`
it ends in a shell with kubectl, and the cluster is removed when you leave the shell.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from tests.cluster import pod_storm
from tests.cluster.harness import cluster as clusters
from tests.cluster.harness.cache import ToolsMissingError
from tests.cluster.harness.manifests import container, deployment, pod
from tests.cluster.harness.options import ControlPlaneOptions
from tests.cluster.harness.waiting import wait_for
from tests.cluster.harness.webhook import webhook
from tests.cluster.harness.workspace import Workspace, workspace
from tests.project.repository import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from tests.cluster.harness.cluster import Cluster

# The client limits that a controller manager has by default: they set the pace of the storm.
OPTIONS = ControlPlaneOptions(controller_manager_flags=("--kube-api-qps=20", "--kube-api-burst=30"))
TOO_MUCH = deployment("train", container(gpus=2))
BUILD = ROOT / "build"


def main() -> int:
    """Show the scenes and record them; 1 when no cluster can run on this machine."""
    say("Starting a Kubernetes cluster: one GPU, shared through MPS as ten replicas of nvidia.com/gpu.")
    try:
        with clusters.cluster(OPTIONS) as running, workspace(running, "demo") as space:
            record(show(running, space, webhook))
            if "--keep" in sys.argv:
                shell(running, space)
    except (ToolsMissingError, clusters.UnavailableError) as problem:
        say(f"No cluster: {problem}")
        return 1
    return 0


def show(
    running: Cluster, space: Workspace, serving: Callable[[Cluster], AbstractContextManager[object]]
) -> pod_storm.Storm:
    """The three scenes, and what was counted in them. The webhook is installed while `serving` is entered."""
    warm_up(space)
    say("\n1. Without the webhook: a Deployment with one replica whose container asks for nvidia.com/gpu: 2.")
    space.kubectl("apply", "-f", "-", manifest=TOO_MUCH)
    without_webhook = count_failed(space)
    reason = space.failed()[0]["status"]
    say(f"\n   {reason['reason']}: {reason['message']}")
    space.kubectl("delete", "deployment", "train")
    delete_pods(space)

    say("\n2. With the webhook, the same kubectl apply:")
    with serving(running):
        denied = space.run("apply", "-f", "-", manifest=TOO_MUCH).stderr
        quote(denied)
        with_webhook = count_failed(space)

        say("\n3. With the webhook, corrected to nvidia.com/gpu: 1:")
        quote(space.kubectl("apply", "-f", "-", manifest=deployment("train", container())))
        show_pod(space)
    version = running.api.get("/version")["gitVersion"].removeprefix("v")
    return pod_storm.Storm(version, without_webhook, with_webhook, denied.strip())


def warm_up(space: Workspace) -> None:
    """Have one pod rejected: a kubelet that has just started reports its first rejection up to ten seconds late."""
    space.api.create(space.pods, pod("warm-up", container(gpus=2)))
    wait_for("the first failed pod", space.failed)
    delete_pods(space)


def delete_pods(space: Workspace) -> None:
    """Delete all pods and wait until none is left."""
    space.api.delete(space.pods)
    wait_for("all pods to be gone", lambda: not space.api.items(space.pods))


def count_failed(space: Workspace) -> pod_storm.Counts:
    """Count the failed pods for as long as a storm is watched, several times per second."""
    began = time.monotonic()
    counts: list[tuple[float, int]] = []

    def count() -> bool:
        counts.append((round(time.monotonic() - began, 2), len(space.failed())))
        print_count(counts)
        return counts[-1][0] >= pod_storm.SECONDS

    wait_for("the end of the count", count, seconds=2 * pod_storm.SECONDS, every=0.25)
    return tuple(counts)


def print_count(counts: list[tuple[float, int]]) -> None:
    """Print the last count: each in place on a terminal, else one every five seconds."""
    seconds, number = counts[-1]
    line = f"   {seconds:4.0f} s   {number:4} failed pods"
    if sys.stdout.isatty():
        sys.stdout.write(f"{line}\r")
        sys.stdout.flush()
    elif len(counts) == 1 or seconds // 5 > counts[-2][0] // 5:
        say(line)


def show_pod(space: Workspace) -> None:
    """What was added to the pod, and what its process sees."""
    name = wait_for("the pod", lambda: space.api.items(space.pods))[0]["metadata"]["name"]
    spec = space.wait_running(name)["spec"]
    say("   The webhook added to the pod:")
    quote(f"runtimeClassName: {spec['runtimeClassName']}")
    quote(f"env: {json.dumps(spec['containers'][0]['env'])}")
    for field in ("volumes", "tolerations"):
        quote(f"{field}: {json.dumps([item for item in spec[field] if 'nvidia' in str(item)])}")
    say("   The process in the container sees:")
    visible = [entry for entry in space.environment(name) if entry.startswith(("CUDA", "NVIDIA"))]
    quote("\n".join(sorted(visible)))
    for path in ("/mps/nvidia.com/gpu/pipe", "/dev/shm"):  # noqa: S108
        top = space.mounts(name, path)[-1]
        quote(f"{path} is {top.root} of the node's {top.kind} at /run")


def record(storm: pod_storm.Storm) -> None:
    """Write the counts and their picture."""
    BUILD.mkdir(exist_ok=True)
    (BUILD / "pod-storm.json").write_text(pod_storm.to_json(storm))
    (BUILD / "pod-storm.svg").write_text(pod_storm.draw(storm))
    without, within = storm.failed, storm.failed_with_webhook
    say(f"\nFailed pods in {pod_storm.SECONDS} s: {without} without the webhook, {within} with it.")
    say("The counts are in build/pod-storm.json, their picture in build/pod-storm.svg.")


def shell(running: Cluster, space: Workspace) -> None:
    """A shell inside the cluster's namespaces, with kubectl set up."""
    say("\nThis shell has kubectl. The cluster is removed when you leave it.")
    kubeconfig = running.control.kubeconfigs["admin"]
    running.kubectl("config", "set-context", "--current", f"--namespace={space.name}")
    path = f"{running.control.tools.kubectl.parent}:{os.environ['PATH']}"
    subprocess.run(
        running.inside.command(["sh"]), env=os.environ | {"KUBECONFIG": str(kubeconfig), "PATH": path}, check=False
    )


def quote(text: str) -> None:
    """Print what another program printed."""
    for line in text.strip().splitlines():
        say(f"   | {line}")


def say(line: str) -> None:
    """Print a line without delay."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
