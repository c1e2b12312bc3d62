"""Pods that have ended, or whose node is lost, and pods with which nothing is wrong."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.live.why.case import Case
from webhook.live.why.cause import Cause
from webhook.live.why.event import first
from webhook.live.why.pod_state import is_finished, node_name, phase, state
from webhook.live.why.reading import condition, is_true, part, word
from webhook.live.why.running import ready_daemon, strategy
from webhook.live.why.workload import has_all, ready, wanted

_EVICTED = ("Evicted", "Preempting", "Preempted", "NodeAffinityEvicted")
_SHOWN = 5


def lost(case: Case) -> Iterator[Cause]:
    """The cause if the node of an unfinished pod does not exist, or is not ready."""
    pod, node = case.pod, case.around.node
    if pod is None or not node_name(pod) or is_finished(pod):
        return
    name = node_name(pod)
    if case.around.is_gone:
        yield Cause("node-lost", f"node {name} does not exist any more", (), _delete(case))
        return
    ready_now = condition(node or {}, "Ready")
    if ready_now and ready_now.get("status") != "True":
        said = word(ready_now, "message")
        evidence = [f"node {name}, Ready={word(ready_now, 'status')}: {said}"] if said else []
        yield Cause("node-lost", f"node {name} is not ready", evidence, f"kubectl describe node {name}")


def causes(case: Case) -> Iterator[Cause]:
    """The causes for which the pod or Job has ended."""
    yield from _of_job(case)
    pod = case.pod
    if pod is None:
        return
    reason, said = word(pod, "status", "reason"), word(pod, "status", "message")
    disrupted = condition(pod, "DisruptionTarget")
    if phase(pod) == "Succeeded":
        yield Cause("completed", "the pod has completed: each container ended with exit code 0")
    elif reason == "DeadlineExceeded":
        summary = "the pod ran longer than activeDeadlineSeconds allows"
        remedy = f"raise activeDeadlineSeconds: {case.edit}"
        yield Cause("deadline-exceeded", summary, [said] if said else [], remedy)
    elif reason in ("NodeLost", "NodeShutdown", "Terminated"):
        yield Cause("node-lost", f"node {node_name(pod)} went away: {reason}", [said] if said else [], _delete(case))
    elif reason in _EVICTED or (disrupted.get("status") == "True" and phase(pod) == "Failed"):
        yield _evicted(case, reason, said or word(disrupted, "message"))


def _evicted(case: Case, reason: str, said: str) -> Cause:
    by = word(condition(case.pod or {}, "DisruptionTarget"), "reason")
    event = first(case.events, ("Evicted", "Preempted"))
    summary = f"the pod was evicted from node {node_name(case.pod or {})}"
    evidence = [one for one in (said, f"{by or reason}", str(event) if event is not None else "") if one]
    return Cause("evicted", summary, evidence, _after_eviction(case, by))


def _after_eviction(case: Case, by: str) -> str:
    match by:
        case "PreemptionByScheduler":
            return f"give it a higher priorityClassName: {case.edit}"
        case "DeletionByTaintManager":
            return f"tolerate the NoExecute taint, or remove it from node {node_name(case.pod or {})}: {case.edit}"
        case "EvictionByEvictionAPI":
            return "if you drained the node, wait: the pod's controller makes another pod"
    return f"request what it uses, such as memory: {case.edit}"


def _delete(case: Case) -> str:
    """How to remove a pod. Force would start the next pod of a StatefulSet while this one may still run."""
    name = f"kubectl delete pod {case.pod_name} -n {case.namespace}"
    if case.pod is not None and is_finished(case.pod):
        return name
    return f"wait until the control plane deletes the pod; once the machine is off for good: {name} --force"


def _of_job(case: Case) -> Iterator[Cause]:
    if case.of.kind != "Job":
        return
    if is_true(case.found, "Complete") and (case.pod is None or phase(case.pod) != "Succeeded"):
        yield Cause("completed", "the Job has completed")
    failed = condition(case.found, "Failed")
    if failed.get("status") == "True" and word(failed, "reason") == "DeadlineExceeded":
        summary = "the Job ran longer than activeDeadlineSeconds allows"
        said = word(failed, "message")
        remedy = f"raise activeDeadlineSeconds: {case.edit}"
        yield Cause("deadline-exceeded", summary, [said] if said else [], remedy)


def nothing_wrong(case: Case) -> Cause:
    """The cause where no group finds any: with what is known instead."""
    evidence = []
    pod = case.pod
    if case.of.kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"):
        evidence.append(f"{ready(case.of.kind, case.found)} of {wanted(case.of.kind, case.found)} pods are ready")
    if pod is None:
        return Cause("nothing-wrong", "nothing is wrong that the cluster shows", evidence, "")
    if case.of.kind != "Pod":
        evidence.append(f"pod {case.pod_name} is {state(pod)}")
    how, daemon = strategy(case), ready_daemon(case)
    if how:
        evidence.append(f"node {node_name(pod)} shares its cards: {how}")
    if daemon:
        evidence.append(f"its MPS control daemon is ready: {daemon}")
    show = f"kubectl describe pod {case.pod_name} -n {case.namespace}"
    if word(pod, "metadata", "deletionTimestamp"):
        finalizers = part(pod, "metadata").get("finalizers")
        named = [one for one in finalizers if isinstance(one, str)][:_SHOWN] if isinstance(finalizers, list) else []
        evidence += [f"metadata.finalizers: {', '.join(named)}"] if named else []
        return Cause("nothing-wrong", "the pod is being deleted, and has not ended yet", evidence, show)
    if phase(pod) == "Running" and condition(pod, "Ready").get("status") == "False":
        probe = first(case.events, ("Unhealthy",))
        evidence += [str(probe)] if probe is not None else []
        evidence += [said] if (said := word(condition(pod, "Ready"), "message")) else []
        return Cause("nothing-wrong", "the pod runs, and is not ready", evidence, _logs(case) or show)
    if phase(pod) == "Running" and (case.of.kind == "Pod" or has_all(case.of.kind, case.found)):
        return Cause("nothing-wrong", "nothing is wrong that the cluster shows: the pod runs", evidence, _logs(case))
    if case.events:
        evidence.append(f"last {case.events[0]}")
    summary = "nothing is wrong that the cluster shows yet"
    return Cause("nothing-wrong", summary, evidence, show)


def _logs(case: Case) -> str:
    return (
        ""
        if case.around.log
        else f"kubectl gpushare why {case.pod_name} -n {case.namespace} --logs, which reads its log too"
    )
