"""Pods that run, or ran, without MPS: no daemon, something that hides it, another user, or a node without MPS."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from webhook.live.pods import controller
from webhook.live.sharing import strategy_of
from webhook.live.why.case import Case, Neighbour
from webhook.live.why.cause import Cause
from webhook.live.why.pod_state import has_started, is_finished, node_name
from webhook.live.why.reading import Object, condition, entries, part, word
from webhook.policy.checks import (
    gps004_pipe_directory,
    gps005_shared_memory,
    gps007_visible_devices,
    gps008_users,
    gps017_pipe_hidden,
)
from webhook.policy.context import PodContext
from webhook.policy.placement.node_classes import NodeClasses
from webhook.policy.pods.pod import PIPE_DIRECTORY, clean_path
from webhook.policy.pods.reading import MalformedError
from webhook.policy.verdict import Violation

_DAEMON: Final = "mps-control-daemon"
"""The container and the component of the daemon's pods (NVIDIA/k8s-device-plugin deployments/helm, NVIDIA/gpu-operator
assets/state-mps-control-daemon)."""

_COMPONENT: Final = "app.kubernetes.io/component"
_HOST_DAEMON: Final = "Bottlerocket"
"""The system whose nodes run the daemon outside of pods."""

_SHOWN: Final = 5


def causes(case: Case) -> Iterator[Cause]:
    """The causes for which a pod with a node does not use MPS."""
    pod, context = case.pod, case.around.context
    if pod is None or context is None or not node_name(pod) or is_finished(pod) or not has_started(pod):
        return
    yield from _without_request(case, context)
    if not context.requests.positive:
        return
    yield from _of_node(case, pod, context)
    yield from _hidden(case, context)
    other = _other_user(case, context)
    if other is not None:
        yield other


def strategy(case: Case) -> str:
    """How the pod's node shares its cards; empty where nothing says."""
    node = case.around.known_node
    return "" if node is None else strategy_of(node, NodeClasses(case.settings, case.around.facts.device_plugin))


def _violations(run: Iterable[Violation]) -> list[Violation]:
    try:
        return list(run)
    except MalformedError:
        return []


def _without_request(case: Case, context: PodContext) -> Iterator[Cause]:
    """A container that reaches GPUs although it asks for none."""
    asking = [(*one.path,) for one in context.requests.containers]
    found = [
        one
        for one in _violations(gps007_visible_devices.run(context))
        if not any(one.path[: len(path)] == path for path in asking)
    ]
    if found:
        evidence = [f"GPS007: {one.message}" for one in found[:_SHOWN]]
        remedy = f"ask for a replica, or {found[0].remedy}: {case.edit}"
        yield Cause("no-replica-asked", "a container reaches GPUs for which it does not ask", evidence, remedy)


def _of_node(case: Case, pod: Object, context: PodContext) -> Iterator[Cause]:
    shared, node = strategy(case), node_name(pod)
    if shared in ("time-slicing", "none") and _wants_mps(context):
        how = "shares through time-slicing" if shared == "time-slicing" else "does not share its cards"
        selector = "nodeSelector: {nvidia.com/gpu.sharing-strategy: mps}"
        evidence = [f"node {node} {how}", "the pod sets up MPS: it names or mounts the pipe directory"]
        remedy = f"require MPS nodes, {selector}: {case.edit}"
        yield Cause("node-not-mps", f"node {node} does not share through MPS", evidence, remedy)
    elif shared == "mps" and _lacks_daemon(case):
        pods = [one.pod for one in case.around.neighbours or () if _is_daemon(one.pod)]
        evidence = [f"{_name(one)} is not ready" for one in pods[:_SHOWN]]
        evidence = evidence or [f"none of {len(case.around.neighbours or ())} pods on the node is the MPS daemon's"]
        summary = f"no ready MPS control daemon runs on node {node}"
        yield Cause("no-daemon", summary, evidence, "kubectl gpushare doctor")


def _wants_mps(context: PodContext) -> bool:
    """Whether a container that asks for GPUs names the pipe directory of MPS, or mounts it."""
    for request in context.requests.positive:
        container, pipe = request.container, context.rules.pipes.get(request.resource.name)
        try:
            names = PIPE_DIRECTORY in container.variables
            mounts = pipe is not None and any(clean_path(pipe.clean) == path for path in container.mounts)
        except MalformedError:
            return False
        if names or mounts:
            return True
    return False


def _lacks_daemon(case: Case) -> bool:
    """Whether the node's daemon, which is a pod, does not run; False where that is not known."""
    system = word(case.around.node, "status", "nodeInfo", "osImage")
    classes = NodeClasses(case.settings)
    if case.around.neighbours is None or not classes.are_discovered or system.startswith(_HOST_DAEMON):
        return False
    return not any(_is_daemon(one.pod) and _is_ready(one.pod) for one in case.around.neighbours)


def _is_daemon(pod: Object) -> bool:
    """Whether a DaemonSet of the MPS control daemon made the pod: a tenant may write a label or a name, too."""
    owner = controller(part(pod, "metadata"))
    if owner is None or owner.kind != "DaemonSet":
        return False
    labels = (word(pod, "metadata", "labels", _COMPONENT), word(pod, "metadata", "labels", "app"))
    names = [word(one, "name") for one in entries(pod, "spec", "containers")]
    return any(_DAEMON in one for one in (*labels, *names))


def _is_ready(pod: Object) -> bool:
    return condition(pod, "Ready").get("status") == "True"


def ready_daemon(case: Case) -> str:
    """The name of the ready daemon's pod on the node; empty where there is none, or it is not known."""
    found = (one.pod for one in case.around.neighbours or () if _is_daemon(one.pod) and _is_ready(one.pod))
    return next(map(_name, found), "")


def _name(pod: Object) -> str:
    return f"pod {word(pod, 'metadata', 'namespace')}/{word(pod, 'metadata', 'name')}"


def _hidden(case: Case, context: PodContext) -> Iterator[Cause]:
    """What of the pod keeps its containers from the daemon, as our checks find it."""
    if not context.mps_requests:
        return
    for cause, code, summary, run in (
        ("pipe-hidden", "GPS017", "a mount hides the pipe directory of MPS", gps017_pipe_hidden.run),
        ("pipe-directory", "GPS004", f"{PIPE_DIRECTORY} points away from the daemon", gps004_pipe_directory.run),
        ("shared-memory-hidden", "GPS005", "a mount hides the /dev/shm of MPS", gps005_shared_memory.run),
    ):
        found = _violations(run(context))
        if found:
            evidence = [f"{code}: {one.message}" for one in found[:_SHOWN]]
            yield Cause(cause, summary, evidence, f"{found[0].remedy}: {case.edit}")


def _other_user(case: Case, context: PodContext) -> Cause | None:
    """The cause if MPS clients on the node have other users, whom the daemon serves one after the other."""
    own = _users(context)
    if not own or not context.mps_requests:
        return None
    others = [
        (one, user)
        for one in case.around.neighbours or ()
        if not _is_same(one, case.pod or {}) and one.context is not None
        for user in _users(one.context)
        if user not in own
    ]
    wrong = _violations(gps008_users.run(context))
    if not others and not wrong:
        return None
    evidence = [f"GPS008: {one.message}" for one in wrong[:_SHOWN]]
    evidence += [f"{_name(one.pod)} uses MPS as user {user}" for one, user in islice(others, _SHOWN)]
    users = ", ".join(map(str, sorted(own)))
    summary = f"the pod uses MPS as user {users}, and the daemon serves one user at a time"
    wanted = min((user for _, user in others), default=None)
    remedy = "set the same runAsUser in all pods that share the node"
    return Cause("other-user", summary, evidence, remedy if wanted is None else f"{remedy}, such as {wanted}")


def _users(context: PodContext) -> set[int]:
    try:
        return {user for _, user, _ in gps008_users.mps_users(context)}
    except MalformedError:
        return set()


def _is_same(one: Neighbour, pod: Object) -> bool:
    return all(word(one.pod, "metadata", key) == word(pod, "metadata", key) for key in ("namespace", "name"))
