"""Pods and workloads that wait on purpose: suspended, queued, gated, paused, or scaled to zero."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from webhook.live.why.case import Case
from webhook.live.why.cause import Cause
from webhook.live.why.reading import Object, entries, number, part, word

_QUEUE: Final = "kueue.x-k8s.io/queue-name"
_KUEUE: Final = "kueue.x-k8s.io/"
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
    return Cause("gated", summary, evidence, f"find the controller that sets the gate: {case.edit}")


def _queued(case: Case, held: Object, summary: str) -> Cause:
    queue = word(held, "metadata", "labels", _QUEUE)
    evidence = [f"label {_QUEUE} is {queue}"] if queue else []
    evidence += [str(one) for one in (*case.events, *case.events_of_makers) if "kueue" in one.source][:2]
    remedy = f"kubectl describe localqueue {queue} -n {case.namespace}".replace("  ", " ")
    return Cause("queued", summary, evidence, remedy)


def _of_workload(case: Case) -> Iterator[Cause]:
    kind, found = case.of.kind, case.found
    spec = part(found, "spec")
    if kind == "Job" and spec.get("suspend") is True:
        if word(found, "metadata", "labels", _QUEUE):
            yield _queued(case, found, "the Job is suspended, and waits in a queue of Kueue")
        else:
            remedy = f'kubectl patch {case.to_edit} -p \'{{"spec":{{"suspend":false}}}}\''
            yield Cause("queued", "the Job is suspended: spec.suspend is true", (), remedy)
    elif kind == "CronJob" and spec.get("suspend") is True:
        remedy = f'kubectl patch {case.to_edit} -p \'{{"spec":{{"suspend":false}}}}\''
        yield Cause("paused", "the CronJob is suspended: spec.suspend is true", (), remedy)
    elif kind in _TEMPLATES and number(spec, "replicas", default=1) == 0:
        remedy = f"kubectl scale --replicas=1 {case.to_edit}"
        yield Cause("scaled-to-zero", f"the {kind} wants no pods: spec.replicas is 0", (), remedy)
    elif kind == "Deployment" and spec.get("paused") is True and case.pod is None:
        remedy = f"kubectl rollout resume {case.to_edit}"
        yield Cause("paused", "the Deployment is paused, and creates no pods: spec.paused is true", (), remedy)
    elif kind == "DaemonSet" and _wants_no_node(found):
        summary = "the DaemonSet wants a pod on no node: its node selector, affinity or tolerations exclude all"
        yield Cause("node-selector", summary, (), f"{case.edit}")


def _wants_no_node(found: Object) -> bool:
    status = part(found, "status")
    return "observedGeneration" in status and number(status, "desiredNumberScheduled") == 0
