"""Pods and workloads that wait on purpose: suspended, queued, gated, paused, or scaled to zero."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from webhook.cluster.reading import Object, entries, number, part, word
from webhook.diagnose.why.case import Case
from webhook.diagnose.why.cause import Cause
from webhook.diagnose.words import named
from webhook.policy.commands import Command

_QUEUE: Final = "kueue.x-k8s.io/queue-name"
_KUEUE: Final = "kueue.x-k8s.io/"
_RESUME: Final = '{"spec":{"suspend":false}}'
_TEMPLATES: Final = ("Deployment", "ReplicaSet", "StatefulSet")


def causes(case: Case) -> Iterator[Cause]:
    """The causes that a setting of the object, or a queue, explains."""
    if case.of.kind != "Pod":
        yield from _of_workload(case)
    if case.pod is not None:
        gates = [word(one, "name") for one in entries(case.pod, "spec", "schedulingGates")]
        if gates:
            yield _gated(case, case.pod, gates)


def _gated(case: Case, pod: Object, gates: list[str]) -> Cause:
    if any(one.startswith(_KUEUE) for one in gates):
        return _queued(case, pod, f"Kueue holds the pod with the scheduling gate {gates[0]}")
    summary = f"the scheduling gate {gates[0]} holds the pod until its controller removes it"
    evidence = [f"spec.schedulingGates: {', '.join(gates)}"]
    return Cause("gated", summary, evidence, case.by_edit("find the controller that sets the gate"))


def _queued(case: Case, held: Object, summary: str) -> Cause:
    queue = word(held, "metadata", "labels", _QUEUE)
    evidence = [f"label {_QUEUE} is {queue}"] if queue else []
    evidence += [str(one) for one in (*case.events, *case.events_of_makers) if "kueue" in one.source][:2]
    remedy = case.kubectl("describe", "localqueue", *([named("localqueue", queue)] if queue else []))
    return Cause("queued", summary, evidence, remedy)


def _of_workload(case: Case) -> Iterator[Cause]:
    kind, found = case.of.kind, case.found
    spec, status = part(found, "spec"), part(found, "status")
    replicas = number(spec, "replicas", default=1)
    is_behind = case.pod is None or number(status, "updatedReplicas", default=replicas) < replicas
    if kind == "Job" and spec.get("suspend") is True:
        if word(found, "metadata", "labels", _QUEUE):
            yield _queued(case, found, "the Job is suspended, and waits in a queue of Kueue")
        else:
            remedy = Command("kubectl", "patch", *case.to_edit, "-p", _RESUME)
            yield Cause("queued", "the Job is suspended: spec.suspend is true", (), remedy)
    elif kind == "CronJob" and spec.get("suspend") is True:
        remedy = Command("kubectl", "patch", *case.to_edit, "-p", _RESUME)
        yield Cause("paused", "the CronJob is suspended: spec.suspend is true", (), remedy)
    elif kind in _TEMPLATES and replicas == 0:
        remedy = Command("kubectl", "scale", "--replicas=1", *case.to_edit)
        yield Cause("scaled-to-zero", f"the {kind} wants no pods: spec.replicas is 0", (), remedy)
    elif kind == "Deployment" and spec.get("paused") is True and is_behind:
        remedy = Command("kubectl", "rollout", "resume", *case.to_edit)
        what = "creates no pods" if case.pod is None else "makes no pods of the new template"
        yield Cause("paused", f"the Deployment is paused, and {what}: spec.paused is true", (), remedy)
    elif kind == "DaemonSet" and "observedGeneration" in status and not number(status, "desiredNumberScheduled"):
        summary = "the DaemonSet wants a pod on no node: its node selector, affinity or tolerations exclude all"
        yield Cause("node-selector", summary, (), case.edit)
