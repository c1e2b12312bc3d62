"""The story of a Deployment that asks for too much, told by a real cluster: without the webhook, with it, put right.

`python -m tests.cluster.demo` leaves nothing behind; with `--keep` it ends in a shell with kubectl, and the cluster
goes with the shell.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from tests.cluster.harness import cluster as clusters
from tests.cluster.harness.cache import ToolsMissingError
from tests.cluster.harness.manifests import container, deployment
from tests.cluster.harness.waiting import wait_for
from tests.cluster.harness.webhook import webhook
from tests.cluster.harness.workspace import Workspace, workspace

if TYPE_CHECKING:
    from tests.cluster.harness.cluster import Cluster

_STORM_SECONDS = 8


def main() -> int:
    """Tell the story; 1 when no cluster can be had here."""
    say("A Kubernetes cluster starts: one GPU, shared through MPS as ten replicas of nvidia.com/gpu.")
    try:
        with clusters.cluster() as running, workspace(running, "demo") as space:
            tell(running, space)
            if "--keep" in sys.argv:
                shell(running, space)
    except (ToolsMissingError, clusters.UnavailableError) as problem:
        say(f"No cluster: {problem}")
        return 1
    return 0


def tell(running: Cluster, space: Workspace) -> None:
    """The three scenes."""
    say("\n1. Without the webhook: a Deployment with one replica whose container asks for nvidia.com/gpu: 2.")
    too_much = deployment("train", container(gpus=2))
    space.kubectl("apply", "-f", "-", manifest=too_much)
    watch_storm(space)
    space.kubectl("delete", "deployment", "train")
    space.kubectl("delete", "pods", "--all", "--wait=false")

    say("\n2. With the webhook installed, the same `kubectl apply`:")
    with webhook(running):
        refused = running.kubectl.run("-n", space.name, "apply", "-f", "-", manifest=too_much)
        quote(refused.stderr)

        say("\n3. Put right: nvidia.com/gpu: 1.")
        quote(space.kubectl("apply", "-f", "-", manifest=deployment("train", container())))
        show_pod(space)


def watch_storm(space: Workspace) -> None:
    """Count failed pods while they come."""
    # A kubelet that has just started tells its first refusal some seconds late.
    wait_for("the first failed pod", lambda: failed(space))
    began = time.monotonic()

    def looked_long_enough() -> bool:
        passed = time.monotonic() - began
        end = "\r" if sys.stdout.isatty() else "\n"
        sys.stdout.write(f"   {passed:4.1f} s   {len(failed(space)):4} failed pods{end}")
        sys.stdout.flush()
        return passed > _STORM_SECONDS

    wait_for("the storm", looked_long_enough, seconds=60, every=1)
    reason = failed(space)[0]["status"]
    say(f"\n   {reason['reason']}: {reason['message']}")


def failed(space: Workspace) -> list[dict[str, Any]]:
    """The pods that have failed."""
    return [pod for pod in space.api.items(space.pods) if pod["status"]["phase"] == "Failed"]


def show_pod(space: Workspace) -> None:
    """What was added to the pod, and what its process sees."""
    name = wait_for("the pod", lambda: [pod for pod in space.api.items(space.pods) if pod not in failed(space)])[0]
    pod = space.wait_running(name["metadata"]["name"])
    spec = pod["spec"]
    say("   Added to the pod:")
    quote(f"runtimeClassName: {spec['runtimeClassName']}")
    quote(f"env: {json.dumps(spec['containers'][0]['env'])}")
    for field in ("volumes", "tolerations"):
        quote(f"{field}: {json.dumps([item for item in spec[field] if 'nvidia' in str(item)])}")
    say("   The process in the container sees:")
    visible = [entry for entry in space.environment(pod["metadata"]["name"]) if entry.startswith(("CUDA", "NVIDIA"))]
    quote("\n".join(sorted(visible)))
    for path in ("/mps/nvidia.com/gpu/pipe", "/dev/shm"):  # noqa: S108
        top = space.mounts(pod["metadata"]["name"], path)[-1]
        quote(f"{path} is {top.root} of the node's {top.kind} at /run")


def shell(running: Cluster, space: Workspace) -> None:
    """A shell inside the cluster's namespaces, with kubectl set up."""
    say("\nThis shell has kubectl; the cluster goes with it.")
    kubeconfig = running.control.kubeconfigs["admin"]
    running.kubectl("config", "set-context", "--current", f"--namespace={space.name}")
    path = f"{running.control.tools.kubectl.parent}:{os.environ['PATH']}"
    subprocess.run(
        running.inside.command(["sh"]), env=os.environ | {"KUBECONFIG": str(kubeconfig), "PATH": path}, check=False
    )


def quote(text: str) -> None:
    """Print what somebody else said."""
    for line in text.strip().splitlines():
        say(f"   | {line}")


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
