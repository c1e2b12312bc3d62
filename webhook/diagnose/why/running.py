"""Pods that have ended or lost their node, run without MPS, or with which nothing is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeVar

from webhook.cluster.reading import condition, is_true, part, word
from webhook.diagnose.finding import Finding, Remedy
from webhook.diagnose.pods import counting, left_over, requests_by_container
from webhook.diagnose.sharing import strategy_of
from webhook.diagnose.why.case import Case, Row, by_words
from webhook.diagnose.why.state import (
    containers,
    has_all,
    has_started,
    is_finished,
    name_of,
    phase,
    ready,
    state,
    wanted,
)
from webhook.policy.checks import CHECKS
from webhook.policy.checks.gps008_users import mps_users
from webhook.policy.context import PodContext
from webhook.policy.placement.node_classes import NodeClasses
from webhook.policy.pods.pod import PIPE_DIRECTORY, clean_path
from webhook.policy.pods.reading import MalformedError
from webhook.policy.verdict import Violation

_SHOWN: Final = 5
_EVICTED: Final = ("Evicted", "Preempting", "Preempted", "NodeAffinityEvicted")


def lost(case: Case) -> Iterator[Finding]:
    """The cause if the node of an unfinished pod does not exist, or is not ready."""
    pod, node, name = case.pod, case.node, case.node_name
    if node is None or not name or is_finished(pod):
        return
    ready_now = condition(node, "Ready")
    if not node:
        # Force would start the next pod of a StatefulSet while this one may still run.
        wait = (
            "wait until the control plane deletes the pod; once the machine is off for good: "
            "`kubectl delete pod {pod} --force`, which gives up the guarantee that a pod of a StatefulSet runs once"
        )
        yield case.cause("node-lost", f"node {name} does not exist any more", (), wait)
    elif ready_now and ready_now.get("status") != "True":
        said = word(ready_now, "message")
        evidence = f"node {name}, Ready={word(ready_now, 'status')}: {said}" if said else ""
        show = "`kubectl describe node {node}`"
        yield case.cause("node-lost", f"node {name} is not ready", [evidence], show)


def ended(case: Case) -> Iterator[Finding]:
    """The causes for which the pod or Job has ended."""
    yield from _of_job(case)
    pod, finalizers = case.pod, _finalizers(case)
    if word(pod, "metadata", "deletionTimestamp") and is_finished(pod) and finalizers:
        summary = f"the pod is being deleted, and its finalizer {finalizers[0]} keeps it"
        start = (
            "start the controller that removes the finalizer; if there is none any more: `kubectl patch pod {pod} "
            """--type=json -p '[{"op":"remove","path":"/metadata/finalizers"}]'`"""
        )
        yield case.cause("finalizer", summary, [f"metadata.finalizers: {', '.join(finalizers)}"], start)
        return
    reason, said = word(pod, "status", "reason"), word(pod, "status", "message")
    done, runs_on = left_over(pod, requests_by_container(pod, counting(case.settings)))
    disrupted, gone = condition(pod, "DisruptionTarget"), list(by_words(case, ENDED, reason, [said], what="pod"))
    if runs_on and phase(pod) == "Running":
        summary = f"container {done} has ended, and container {runs_on} runs on, so that the pod keeps its replicas"
        make = "make it an init container with restartPolicy: Always, which ends with the others: {edit}"
        yield case.cause("sidecar-runs-on", summary, (), make)
    elif phase(pod) == "Succeeded":
        yield case.cause("completed", "the pod has completed: each container ended with exit code 0")
    elif gone:
        yield from gone
    elif reason in _EVICTED or (disrupted.get("status") == "True" and phase(pod) == "Failed"):
        by = word(disrupted, "reason")
        helps = _AFTER_EVICTION.get(by, "request what it uses, such as memory: {edit}")
        if by == "EvictionByEvictionAPI" and not case.makers:
            helps = "create the pod again: {edit}"
        evidence = [said or word(disrupted, "message"), by or reason, str(case.event("Evicted", "Preempted"))]
        yield case.cause("evicted", f"the pod was evicted from node {case.node_name}", evidence, helps)


ENDED: Final = (
    Row(
        "deadline-exceeded",
        "^DeadlineExceeded$",
        "the {what} ran longer than activeDeadlineSeconds allows",
        "raise activeDeadlineSeconds: {edit}",
    ),
    Row(
        "node-lost",
        "^(?P<reason>NodeLost|NodeShutdown|Terminated)$",
        "node {node} went away: {reason}",
        "`kubectl delete pod {pod}`",
    ),
)
"""The reasons of a pod or Job that has ended."""

_AFTER_EVICTION: Final = {
    "PreemptionByScheduler": "give it a higher priorityClassName: {edit}",
    "DeletionByTaintManager": "tolerate the NoExecute taint, or remove it from node {node}: {edit}",
    "EvictionByEvictionAPI": (
        "if you drained the node, its controller makes another pod, which this shows: `kubectl get pods {ns}`"
    ),
}


def _of_job(case: Case) -> Iterator[Finding]:
    if case.of.kind != "Job":
        return
    failed = condition(case.found, "Failed")
    reason, said = word(failed, "reason"), word(failed, "message")
    if is_true(case.found, "Complete") and (not case.pod or phase(case.pod) != "Succeeded"):
        yield case.cause("completed", "the Job has completed")
    elif failed.get("status") == "True" and reason == "DeadlineExceeded":
        yield from by_words(case, ENDED, reason, [said], what="Job")
    elif failed.get("status") == "True" and not case.pod:
        evidence, show = [": ".join(filter(None, (reason, said)))], "`kubectl describe {object}`"
        yield case.cause("exit-code", "the Job failed, and its pods are gone", evidence, show)


def _finalizers(case: Case) -> list[str]:
    found = part(case.pod, "metadata").get("finalizers")
    return [one for one in found if isinstance(one, str)][:_SHOWN] if isinstance(found, list) else []


# Without MPS: no daemon, something that hides it, another user, or a node without MPS.

_Found = TypeVar("_Found")


_HIDDEN: Final = {
    "GPS017": ("pipe-hidden", "a mount hides the pipe directory of MPS"),
    "GPS004": ("pipe-directory", f"{PIPE_DIRECTORY} points away from the daemon"),
    "GPS005": ("shared-memory-hidden", "a mount hides the /dev/shm of MPS"),
}
"""What of a pod keeps its containers from the daemon, as our checks find it: the causes by the codes of the checks."""

_RUNS: Final = {check.code: check.run for check in CHECKS}


def without_mps(case: Case) -> Iterator[Finding]:
    """The causes for which a pod with a node does not use MPS."""
    pod, context = case.pod, case.context
    if context is None or not case.node_name or is_finished(pod) or not has_started(pod):
        return
    asking = [(*one.path,) for one in context.requests.containers]
    reaching = _listed(_RUNS["GPS007"](context))
    reaching = [one for one in reaching if not any(one.path[: len(path)] == path for path in asking)]
    yield from _checked(
        case, "GPS007", "no-replica-asked", "a container reaches GPUs for which it does not ask", reaching
    )
    if not context.requests.positive:
        return
    yield from _of_node(case, context)
    if context.mps_requests:
        for code, (cause, summary) in _HIDDEN.items():
            yield from _checked(case, code, cause, summary, _listed(_RUNS[code](context)))
        yield from _other_user(case, context)


def strategy(case: Case) -> str:
    """How the pod's node shares its cards, by its plugin's configuration, else by labels; empty where nothing says."""
    configured = next((one.strategy for one in case.chains), None)
    if configured is not None or not case.node_name:
        return configured or ""
    facts = case.facts
    return next((strategy_of(one, NodeClasses(case.settings, facts.device_plugin)) for one in facts.nodes or ()), "")


def _listed(run: Iterable[_Found]) -> list[_Found]:
    """What a check finds; nothing in a pod that is malformed."""
    try:
        return list(run)
    except MalformedError:
        return []


def _checked(case: Case, code: str, cause: str, summary: str, found: Sequence[Violation]) -> Iterator[Finding]:
    """The cause for the violations that a check finds."""
    if found:
        evidence = [f"{code}: {one.message}" for one in found[:_SHOWN]]
        yield case.cause(cause, summary, evidence, Remedy(found[0].remedy, ": ", case.edit))


def _of_node(case: Case, context: PodContext) -> Iterator[Finding]:
    shared, node = strategy(case), case.node_name
    if shared in ("time-slicing", "none") and _wants_mps(context):
        how = "shares through time-slicing" if shared == "time-slicing" else "does not share its cards"
        evidence = [f"node {node} {how}", "the pod sets up MPS: it names or mounts the pipe directory"]
        remedy = "require MPS nodes, nodeSelector: {nvidia.com/gpu.sharing-strategy: mps}: {edit}"
        yield case.cause("node-not-mps", f"node {node} does not share through MPS", evidence, remedy)
    elif shared == "mps" and case.neighbours is not None and NodeClasses(case.settings).are_discovered:
        daemons = _daemons(case)
        if any(one.node.runs_stack_itself for one in case.chains) or any(ready for _, ready in daemons):
            return
        evidence = [f"pod {one} is not ready" for one, _ in daemons][:_SHOWN]
        evidence = evidence or [f"none of {len(case.neighbours)} pods on the node is the MPS daemon's"]
        yield case.cause("no-daemon", f"no ready MPS control daemon runs on node {node}", evidence, "{daemon}")


def _wants_mps(context: PodContext) -> bool:
    """Whether a container that asks for GPUs names the pipe directory of MPS, or mounts it."""
    try:
        return any(
            PIPE_DIRECTORY in one.container.variables
            or (pipe is not None and clean_path(pipe.clean) in one.container.mounts)
            for one in context.requests.positive
            for pipe in [context.policy.pipes.get(one.resource.name)]
        )
    except MalformedError:
        return False


def _daemons(case: Case) -> list[tuple[str, bool]]:
    """The pods of the MPS control daemon on the node, and whether each is ready; none where they are not known."""
    return [(f"{one.namespace}/{one.name}", one.is_ready) for chain in case.chains for one in chain.daemons]


def _other_user(case: Case, context: PodContext) -> Iterator[Finding]:
    """The cause if MPS clients on the node have other users, whom the daemon serves one after the other."""
    own, wrong = _users(context), _listed(_RUNS["GPS008"](context))
    beside = [(pod, context) for pod, context in case.neighbours or () if context is not None]
    others = [(pod, user) for pod, context in beside for user in sorted(_users(context) - own)] if own else []
    if not own or not (others or wrong):
        return
    evidence = [f"GPS008: {one.message}" for one in wrong[:_SHOWN]]
    evidence += [f"pod {pod} uses MPS as user {user}" for pod, user in others[:_SHOWN]]
    users = ", ".join(map(str, sorted(own)))
    summary = f"the pod uses MPS as user {users}, and the daemon serves one user at a time"
    remedy = "set the same runAsUser in all pods that share the node"
    if others:
        remedy += f", such as {min(user for _, user in others)}"
    yield case.cause("other-user", summary, evidence, remedy)


def _users(context: PodContext) -> set[int]:
    return {user for _, user, _ in _listed(mps_users(context))}


def nothing_wrong(case: Case) -> Finding:
    """The cause where no group finds any: with what is known instead."""
    evidence, pod, kind = [], case.pod, case.of.kind
    if kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"):
        evidence.append(f"{ready(kind, case.found)} of {wanted(kind, case.found)} pods are ready")
    if not pod:
        return case.cause("nothing-wrong", "nothing is wrong that the cluster shows", evidence)
    if kind != "Pod":
        evidence.append(f"pod {name_of(pod)} is {state(pod)}")
    if how := strategy(case):
        evidence.append(f"node {case.node_name} shares its cards: {how}")
    evidence += [f"its MPS control daemon is ready: pod {one}" for one, ready in _daemons(case) if ready][:1]
    summary, remedy = "nothing is wrong that the cluster shows yet", "`kubectl describe pod {pod}`"
    read_log = "" if case.log else "`kubectl gpushare why {pod} --logs`, which reads its log too"
    is_running, is_ready = phase(pod) == "Running", condition(pod, "Ready")
    if word(pod, "metadata", "deletionTimestamp"):
        summary = "the pod is being deleted, and has not ended yet"
        finalizers = _finalizers(case)
        evidence += [f"metadata.finalizers: {', '.join(finalizers)}"] if finalizers else []
    elif is_running and is_ready.get("status") == "False":
        probe = case.event("Unhealthy")
        if probe.message.startswith(("Readiness", "Startup")):
            which = probe.message.partition(" ")[0].lower()
            name = next((one.name for one in containers(pod) if not one.ready and not one.is_init), "")
            summary = f"the {which} probe of container {name} fails, so that the pod is not ready"
            helps = "correct the probe, or what it asks: {edit}"
            return case.cause("probe", summary, [*evidence, str(probe)], helps)
        summary, remedy = "the pod runs, and is not ready", read_log or remedy
        evidence += [str(probe), word(is_ready, "message")]
    elif is_running and (kind == "Pod" or has_all(kind, case.found)):
        summary, remedy = "nothing is wrong that the cluster shows: the pod runs", read_log
    elif case.events:
        evidence.append(f"last {case.events[0]}")
    return case.cause("nothing-wrong", summary, evidence, remedy)
