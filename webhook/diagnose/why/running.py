"""Pods that run, or ran, without MPS: no daemon, something that hides it, another user, or a node without MPS."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

from webhook.cluster.reading import Object, controller, is_true, part
from webhook.cluster.stack import Role, role_of
from webhook.diagnose.remedy import Remedy
from webhook.diagnose.sharing import strategy_of
from webhook.diagnose.why.case import Case, Cause
from webhook.diagnose.why.state import has_started, is_finished
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

_SHOWN: Final = 5

_Found = TypeVar("_Found")


def causes(case: Case) -> Iterator[Cause]:
    """The causes for which a pod with a node does not use MPS."""
    pod, context = case.pod, case.around.context
    if pod is None or context is None or not case.node_name or is_finished(pod) or not has_started(pod):
        return
    yield from _without_request(case, context)
    if not context.requests.positive:
        return
    yield from _of_node(case, context)
    if context.mps_requests:
        yield from _hidden(case, context)
        yield from _other_user(case, context)


def strategy(case: Case) -> str:
    """How the pod's node shares its cards, by its plugin's configuration, else by labels; empty where nothing says."""
    configured = next((one.strategy for one in case.around.chains), None)
    if configured is not None or not case.node_name:
        return configured or ""
    facts = case.around.facts
    return next((strategy_of(one, NodeClasses(case.settings, facts.device_plugin)) for one in facts.nodes or ()), "")


def _listed(run: Iterable[_Found]) -> list[_Found]:
    """What a check finds; nothing in a pod that is malformed."""
    try:
        return list(run)
    except MalformedError:
        return []


def _without_request(case: Case, context: PodContext) -> Iterator[Cause]:
    """A container that reaches GPUs although it asks for none."""
    asking = [(*one.path,) for one in context.requests.containers]
    found = [
        one
        for one in _listed(gps007_visible_devices.run(context))
        if not any(one.path[: len(path)] == path for path in asking)
    ]
    if found:
        evidence = [f"GPS007: {one.message}" for one in found[:_SHOWN]]
        remedy = Remedy(found[0].remedy, ": ", case.edit)
        yield Cause("no-replica-asked", "a container reaches GPUs for which it does not ask", evidence, remedy)


def _of_node(case: Case, context: PodContext) -> Iterator[Cause]:
    shared, node = strategy(case), case.node_name
    if shared in ("time-slicing", "none") and _wants_mps(context):
        how = "shares through time-slicing" if shared == "time-slicing" else "does not share its cards"
        evidence = [f"node {node} {how}", "the pod sets up MPS: it names or mounts the pipe directory"]
        remedy = case.remedy("require MPS nodes, nodeSelector: {nvidia.com/gpu.sharing-strategy: mps}: {edit}")
        yield Cause("node-not-mps", f"node {node} does not share through MPS", evidence, remedy)
    elif shared == "mps" and _lacks_daemon(case):
        beside = case.around.neighbours or ()
        evidence = [f"{one} is not ready" for one in beside if _is_daemon(one.pod)][:_SHOWN]
        evidence = evidence or [f"none of {len(beside)} pods on the node is the MPS daemon's"]
        summary = f"no ready MPS control daemon runs on node {node}"
        yield Cause("no-daemon", summary, evidence, case.of_daemon)


def _wants_mps(context: PodContext) -> bool:
    """Whether a container that asks for GPUs names the pipe directory of MPS, or mounts it."""
    for request in context.requests.positive:
        container, pipe = request.container, context.policy.pipes.get(request.resource.name)
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
    if case.around.neighbours is None or not NodeClasses(case.settings).are_discovered:
        return False
    return not any(one.node.runs_stack_itself for one in case.around.chains) and not ready_daemon(case)


def _is_daemon(pod: Object) -> bool:
    """Whether a DaemonSet of the MPS control daemon made the pod."""
    owner = controller(part(pod, "metadata"))
    return owner is not None and owner.kind == "DaemonSet" and role_of(part(pod, "spec")) is Role.DAEMON


def ready_daemon(case: Case) -> str:
    """The name of the ready daemon's pod on the node; empty where there is none, or it is not known."""
    found = (one for one in case.around.neighbours or () if _is_daemon(one.pod) and is_true(one.pod, "Ready"))
    return next(map(str, found), "")


def _hidden(case: Case, context: PodContext) -> Iterator[Cause]:
    """What of the pod keeps its containers from the daemon, as our checks find it."""
    for cause, code, summary, run in (
        ("pipe-hidden", "GPS017", "a mount hides the pipe directory of MPS", gps017_pipe_hidden.run),
        ("pipe-directory", "GPS004", f"{PIPE_DIRECTORY} points away from the daemon", gps004_pipe_directory.run),
        ("shared-memory-hidden", "GPS005", "a mount hides the /dev/shm of MPS", gps005_shared_memory.run),
    ):
        found = _listed(run(context))
        if found:
            evidence = [f"{code}: {one.message}" for one in found[:_SHOWN]]
            yield Cause(cause, summary, evidence, Remedy(found[0].remedy, ": ", case.edit))


def _other_user(case: Case, context: PodContext) -> Iterator[Cause]:
    """The cause if MPS clients on the node have other users, whom the daemon serves one after the other."""
    own = {user for _, user, _ in _listed(gps008_users.mps_users(context))}
    others = [
        (str(one), user)
        for one in case.around.neighbours or ()
        if one.context is not None and own
        for user in {user for _, user, _ in _listed(gps008_users.mps_users(one.context))} - own
    ]
    wrong = _listed(gps008_users.run(context))
    if not own or not (others or wrong):
        return
    evidence = [f"GPS008: {one.message}" for one in wrong[:_SHOWN]]
    evidence += [f"{pod} uses MPS as user {user}" for pod, user in others[:_SHOWN]]
    users = ", ".join(map(str, sorted(own)))
    summary = f"the pod uses MPS as user {users}, and the daemon serves one user at a time"
    remedy = "set the same runAsUser in all pods that share the node"
    if others:
        remedy += f", such as {min(user for _, user in others)}"
    yield Cause("other-user", summary, evidence, remedy)
