"""Pods that have ended, or whose node is lost, and pods with which nothing is wrong."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.cluster.reading import Object, condition, controller, is_true, part, word
from webhook.diagnose.remedy import Advice, Remedy
from webhook.diagnose.why.case import Case, describe_node
from webhook.diagnose.why.cause import Cause
from webhook.diagnose.why.event import first
from webhook.diagnose.why.pod_state import containers, is_finished, phase, state
from webhook.diagnose.why.running import ready_daemon, strategy
from webhook.diagnose.why.workload import has_all, ready, wanted
from webhook.diagnose.words import named
from webhook.policy.commands import Command

_EVICTED = ("Evicted", "Preempting", "Preempted", "NodeAffinityEvicted")
_SHOWN = 5


def lost(case: Case) -> Iterator[Cause]:
    """The cause if the node of an unfinished pod does not exist, or is not ready."""
    pod, node = case.pod, case.around.node
    name = case.node_name
    if pod is None or not name or is_finished(pod):
        return
    if case.around.is_gone:
        yield Cause("node-lost", f"node {name} does not exist any more", (), _delete(case))
        return
    ready_now = condition(node or {}, "Ready")
    if ready_now and ready_now.get("status") != "True":
        said = word(ready_now, "message")
        evidence = f"node {name}, Ready={word(ready_now, 'status')}: {said}" if said else ""
        yield Cause("node-lost", f"node {name} is not ready", [evidence], describe_node(name))


def causes(case: Case) -> Iterator[Cause]:
    """The causes for which the pod or Job has ended."""
    yield from _of_job(case)
    pod = case.pod
    if pod is None:
        return
    finalizers = _finalizers(pod)
    if word(pod, "metadata", "deletionTimestamp") and is_finished(pod) and finalizers:
        summary = f"the pod is being deleted, and its finalizer {finalizers[0]} keeps it"
        patch = '[{"op":"remove","path":"/metadata/finalizers"}]'
        end = Command("kubectl", "patch", "pod", *case.pod_words, "--type=json", "-p", patch)
        remedy = Remedy("start the controller that removes the finalizer; if there is none any more: ", end)
        yield Cause("finalizer", summary, [f"metadata.finalizers: {', '.join(finalizers)}"], remedy)
        return
    reason, said = word(pod, "status", "reason"), word(pod, "status", "message")
    if phase(pod) == "Succeeded":
        yield Cause("completed", "the pod has completed: each container ended with exit code 0")
    elif reason == "DeadlineExceeded":
        yield _too_long(case, "pod", said)
    elif reason in ("NodeLost", "NodeShutdown", "Terminated"):
        yield Cause("node-lost", f"node {case.node_name} went away: {reason}", [said], _delete(case))
    elif reason in _EVICTED or (is_true(pod, "DisruptionTarget") and phase(pod) == "Failed"):
        disrupted = condition(pod, "DisruptionTarget")
        by = word(disrupted, "reason")
        event = first(case.events, ("Evicted", "Preempted"))
        evidence = [said or word(disrupted, "message"), by or reason, "" if event is None else str(event)]
        summary = f"the pod was evicted from node {case.node_name}"
        yield Cause("evicted", summary, evidence, _after_eviction(case, by))


def _finalizers(pod: Object) -> list[str]:
    found = part(pod, "metadata").get("finalizers")
    return [one for one in found if isinstance(one, str)][:_SHOWN] if isinstance(found, list) else []


def _too_long(case: Case, what: str, said: str) -> Cause:
    summary = f"the {what} ran longer than activeDeadlineSeconds allows"
    return Cause("deadline-exceeded", summary, [said], case.by_edit("raise activeDeadlineSeconds"))


def _after_eviction(case: Case, by: str) -> Advice:
    match by:
        case "PreemptionByScheduler":
            return case.by_edit("give it a higher priorityClassName")
        case "DeletionByTaintManager":
            node = named("node", case.node_name)
            return Remedy("tolerate the NoExecute taint, or remove it from node ", node, ": ", case.edit)
        case "EvictionByEvictionAPI":
            if case.makers or controller(part(case.pod, "metadata")) is not None:
                another = "if you drained the node, its controller makes another pod, which this shows: "
                return Remedy(another, case.kubectl("get", "pods"))
            return case.by_edit("create the pod again")
    return case.by_edit("request what it uses, such as memory")


def _delete(case: Case) -> Advice:
    """How to remove a pod. Force would start the next pod of a StatefulSet while this one may still run."""
    if case.pod is not None and is_finished(case.pod):
        return case.of_pod("delete")
    force = Command("kubectl", "delete", "pod", *case.pod_words, "--force")
    wait = "wait until the control plane deletes the pod; once the machine is off for good: "
    lost = ", which gives up the guarantee that a pod of a StatefulSet runs once"
    return Remedy(wait, force, lost)


def _of_job(case: Case) -> Iterator[Cause]:
    if case.of.kind != "Job":
        return
    if is_true(case.found, "Complete") and (case.pod is None or phase(case.pod) != "Succeeded"):
        yield Cause("completed", "the Job has completed")
    failed = condition(case.found, "Failed")
    if is_true(case.found, "Failed") and word(failed, "reason") == "DeadlineExceeded":
        yield _too_long(case, "Job", word(failed, "message"))


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
        evidence.append(f"node {case.node_name} shares its cards: {how}")
    if daemon:
        evidence.append(f"its MPS control daemon is ready: {daemon}")
    show = case.of_pod("describe")
    if word(pod, "metadata", "deletionTimestamp"):
        finalizers = _finalizers(pod)
        evidence += [f"metadata.finalizers: {', '.join(finalizers)}"] if finalizers else []
        return Cause("nothing-wrong", "the pod is being deleted, and has not ended yet", evidence, show)
    if phase(pod) == "Running" and condition(pod, "Ready").get("status") == "False":
        probe = first(case.events, ("Unhealthy",))
        if probe is not None and probe.message.startswith(("Readiness", "Startup")):
            which = probe.message.partition(" ")[0].lower()
            name = next((one.name for one in containers(pod) if not one.ready and not one.is_init), "")
            summary = f"the {which} probe of container {name} fails, so that the pod is not ready"
            remedy = case.by_edit("correct the probe, or what it asks")
            return Cause("probe", summary, [*evidence, str(probe)], remedy)
        evidence += ["" if probe is None else str(probe), word(condition(pod, "Ready"), "message")]
        look = show if case.around.log else _logs(case)
        return Cause("nothing-wrong", "the pod runs, and is not ready", evidence, look)
    if phase(pod) == "Running" and (case.of.kind == "Pod" or has_all(case.of.kind, case.found)):
        return Cause("nothing-wrong", "nothing is wrong that the cluster shows: the pod runs", evidence, _logs(case))
    if case.events:
        evidence.append(f"last {case.events[0]}")
    summary = "nothing is wrong that the cluster shows yet"
    return Cause("nothing-wrong", summary, evidence, show)


def _logs(case: Case) -> Remedy:
    with_log = Command("kubectl", "gpushare", "why", *case.pod_words, "--logs")
    return Remedy() if case.around.log else Remedy(with_log, ", which reads its log too")
