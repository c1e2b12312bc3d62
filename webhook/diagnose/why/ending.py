"""Pods that have ended, or whose node is lost, and pods with which nothing is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from webhook.cluster.reading import condition, controller, is_true, part, word
from webhook.diagnose.why.case import Case, Cause
from webhook.diagnose.why.running import ready_daemon, strategy
from webhook.diagnose.why.state import containers, first, has_all, is_finished, phase, ready, state, told, wanted

_EVICTED: Final = ("Evicted", "Preempting", "Preempted", "NodeAffinityEvicted")
_SHOWN: Final = 5


def lost(case: Case) -> Iterator[Cause]:
    """The cause if the node of an unfinished pod does not exist, or is not ready."""
    pod, node, name = case.pod, case.around.node, case.node_name
    if pod is None or node is None or not name or is_finished(pod):
        return
    ready_now = condition(node, "Ready")
    if not node:
        # Force would start the next pod of a StatefulSet while this one may still run.
        wait = (
            "wait until the control plane deletes the pod; once the machine is off for good: "
            "`kubectl delete pod {pod} --force`, which gives up the guarantee that a pod of a StatefulSet runs once"
        )
        yield Cause("node-lost", f"node {name} does not exist any more", (), case.remedy(wait))
    elif ready_now and ready_now.get("status") != "True":
        said = word(ready_now, "message")
        evidence = f"node {name}, Ready={word(ready_now, 'status')}: {said}" if said else ""
        show = case.remedy("`kubectl describe node {node}`")
        yield Cause("node-lost", f"node {name} is not ready", [evidence], show)


def causes(case: Case) -> Iterator[Cause]:
    """The causes for which the pod or Job has ended."""
    yield from _of_job(case)
    pod = case.pod
    if pod is None:
        return
    finalizers = _finalizers(case)
    if word(pod, "metadata", "deletionTimestamp") and is_finished(pod) and finalizers:
        summary = f"the pod is being deleted, and its finalizer {finalizers[0]} keeps it"
        start = (
            "start the controller that removes the finalizer; if there is none any more: `kubectl patch pod {pod} "
            """--type=json -p '[{"op":"remove","path":"/metadata/finalizers"}]'`"""
        )
        yield Cause("finalizer", summary, [f"metadata.finalizers: {', '.join(finalizers)}"], case.remedy(start))
        return
    reason, said = word(pod, "status", "reason"), word(pod, "status", "message")
    if phase(pod) == "Succeeded":
        yield Cause("completed", "the pod has completed: each container ended with exit code 0")
    elif reason == "DeadlineExceeded":
        yield _too_long(case, "pod", said)
    elif reason in ("NodeLost", "NodeShutdown", "Terminated"):
        yield Cause(
            "node-lost", f"node {case.node_name} went away: {reason}", [said], case.remedy("`kubectl delete pod {pod}`")
        )
    elif reason in _EVICTED or (is_true(pod, "DisruptionTarget") and phase(pod) == "Failed"):
        disrupted = condition(pod, "DisruptionTarget")
        by = word(disrupted, "reason")
        helps = _AFTER_EVICTION.get(by, "request what it uses, such as memory: {edit}")
        if by == "EvictionByEvictionAPI" and not case.makers and controller(part(pod, "metadata")) is None:
            helps = "create the pod again: {edit}"
        evidence = [said or word(disrupted, "message"), by or reason, told(case.events, ("Evicted", "Preempted"))]
        yield Cause("evicted", f"the pod was evicted from node {case.node_name}", evidence, case.remedy(helps))


_AFTER_EVICTION: Final = {
    "PreemptionByScheduler": "give it a higher priorityClassName: {edit}",
    "DeletionByTaintManager": "tolerate the NoExecute taint, or remove it from node {node}: {edit}",
    "EvictionByEvictionAPI": (
        "if you drained the node, its controller makes another pod, which this shows: `kubectl get pods {ns}`"
    ),
}


def _of_job(case: Case) -> Iterator[Cause]:
    if case.of.kind != "Job":
        return
    if is_true(case.found, "Complete") and (case.pod is None or phase(case.pod) != "Succeeded"):
        yield Cause("completed", "the Job has completed")
    failed = condition(case.found, "Failed")
    if failed.get("status") == "True" and word(failed, "reason") == "DeadlineExceeded":
        yield _too_long(case, "Job", word(failed, "message"))


def _too_long(case: Case, what: str, said: str) -> Cause:
    summary = f"the {what} ran longer than activeDeadlineSeconds allows"
    return Cause("deadline-exceeded", summary, [said], case.remedy("raise activeDeadlineSeconds: {edit}"))


def _finalizers(case: Case) -> list[str]:
    found = part(case.pod, "metadata").get("finalizers")
    return [one for one in found if isinstance(one, str)][:_SHOWN] if isinstance(found, list) else []


def nothing_wrong(case: Case) -> Cause:
    """The cause where no group finds any: with what is known instead."""
    evidence, pod, kind = [], case.pod, case.of.kind
    if kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"):
        evidence.append(f"{ready(kind, case.found)} of {wanted(kind, case.found)} pods are ready")
    if pod is None:
        return Cause("nothing-wrong", "nothing is wrong that the cluster shows", evidence)
    if kind != "Pod":
        evidence.append(f"pod {case.pod_name} is {state(pod)}")
    how, daemon = strategy(case), ready_daemon(case)
    if how:
        evidence.append(f"node {case.node_name} shares its cards: {how}")
    if daemon:
        evidence.append(f"its MPS control daemon is ready: {daemon}")
    summary, remedy = "nothing is wrong that the cluster shows yet", "`kubectl describe pod {pod}`"
    read_log = "" if case.around.log else "`kubectl gpushare why {pod} --logs`, which reads its log too"
    is_running, is_ready = phase(pod) == "Running", condition(pod, "Ready")
    if word(pod, "metadata", "deletionTimestamp"):
        summary = "the pod is being deleted, and has not ended yet"
        finalizers = _finalizers(case)
        evidence += [f"metadata.finalizers: {', '.join(finalizers)}"] if finalizers else []
    elif is_running and is_ready.get("status") == "False":
        probe = first(case.events, ("Unhealthy",))
        if probe is not None and probe.message.startswith(("Readiness", "Startup")):
            which = probe.message.partition(" ")[0].lower()
            name = next((one.name for one in containers(pod) if not one.ready and not one.is_init), "")
            summary = f"the {which} probe of container {name} fails, so that the pod is not ready"
            helps = case.remedy("correct the probe, or what it asks: {edit}")
            return Cause("probe", summary, [*evidence, str(probe)], helps)
        summary, remedy = "the pod runs, and is not ready", read_log or remedy
        evidence += ["" if probe is None else str(probe), word(is_ready, "message")]
    elif is_running and (kind == "Pod" or has_all(kind, case.found)):
        summary, remedy = "nothing is wrong that the cluster shows: the pod runs", read_log
    elif case.events:
        evidence.append(f"last {case.events[0]}")
    return Cause("nothing-wrong", summary, evidence, case.remedy(remedy))
