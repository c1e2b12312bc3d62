"""Containers that end with an error: killed for memory or by a probe, with an exit code, or with an error of CUDA."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from webhook.live.why.case import Case
from webhook.live.why.cause import Cause
from webhook.live.why.cuda import find
from webhook.live.why.event import first
from webhook.live.why.pod_state import ContainerState, containers, phase
from webhook.live.why.reading import Object, condition, entries, number, word

_NOT_STARTED: Final = ("StartError", "ContainerCannotRun")

_MOST: Final = 100
"""Containers of a pod that are looked at: each looks for its limit among all."""

_SIGKILL: Final = 137
_SIGNALS: Final = {137: "SIGKILL", 139: "SIGSEGV", 143: "SIGTERM", 134: "SIGABRT", 132: "SIGILL", 135: "SIGBUS"}


def causes(case: Case) -> Iterator[Cause]:
    """The causes for which containers of the pod end."""
    yield from _of_log(case)
    has_found = False
    for one in islice(containers(case.pod or {}), _MOST):
        cause = _of_container(case, one)
        if cause is not None:
            has_found = True
            yield cause
    if not has_found and case.pod is None:
        yield from _of_job(case)


def _of_log(case: Case) -> Iterator[Cause]:
    log = case.around.log
    found = None if log is None else find(log.text)
    if log is None or found is None:
        return
    known = found.known
    evidence = [f"log of container {log.container}: {found.line}"]
    yield Cause(known.cause, f"{known.summary} (container {log.container})", evidence, known.remedy)


def _of_container(case: Case, one: ContainerState) -> Cause | None:
    probe = first(case.events, ("Killing",), f"Container {one.name} failed ")
    if probe is not None and one.restarts:
        summary = f"the kubelet kills container {one.name}, because its probe fails"
        unhealthy = first(case.events, ("Unhealthy",))
        evidence = [str(probe), *([str(unhealthy)] if unhealthy is not None else [])]
        remedy = f"correct the probe, or give the program more time: {case.edit}"
        return Cause("liveness", summary, evidence, remedy)
    last = one.failure
    if not last or word(last, "reason") in _NOT_STARTED or not _matters(case.pod or {}, one):
        return None
    if word(last, "reason") == "OOMKilled" or _was_killed_for_memory(case, one, last):
        return _out_of_memory(case, one, word(last, "reason"))
    return _exit(case, one, last)


def _matters(pod: Object, one: ContainerState) -> bool:
    """Whether an end is more than history: the container runs no longer, or has not become ready since."""
    return bool(one.ended or one.waiting) or not one.ready or phase(pod) == "Failed"


def _memory_limit(case: Case, name: str) -> str:
    listed = [*entries(case.pod, "spec", "initContainers"), *entries(case.pod, "spec", "containers")]
    return next((word(one, "resources", "limits", "memory") for one in listed if word(one, "name") == name), "")


def _was_killed_for_memory(case: Case, one: ContainerState, last: Object) -> bool:
    """Whether a container with a memory limit got SIGKILL, and not from the kubelet.

    A runtime that misses the event of the kernel reports the reason Error.
    """
    is_killed = number(last, "exitCode") == _SIGKILL and bool(_memory_limit(case, one.name))
    return is_killed and first(case.events, ("Killing", "Preempting", "Evicted")) is None


def _out_of_memory(case: Case, one: ContainerState, reason: str) -> Cause:
    limit = _memory_limit(case, one.name)
    of_limit = f"its limit{f' of {limit}' if limit else ''}"
    is_certain = reason == "OOMKilled"
    summary = (
        f"container {one.name} needs more host memory than {of_limit}"
        if is_certain
        else f"container {one.name} was killed, probably because it needs more host memory than {of_limit}"
    )
    how = "OOMKilled" if is_certain else "exit code 137 (SIGKILL), and no event of the kubelet that names a reason"
    evidence = [how, _times(one), "the limit is on memory of the node, not of the GPU"]
    remedy = f"raise resources.limits.memory: {case.edit}"
    return Cause("out-of-memory-killed", summary, [each for each in evidence if each], remedy)


def _exit(case: Case, one: ContainerState, last: Object) -> Cause:
    code = number(last, "exitCode")
    signal = f" ({_SIGNALS[code]})" if code in _SIGNALS else ""
    kind = "init container" if one.is_init else "container"
    summary = f"{kind} {one.name} ends with exit code {code}{signal}"
    said = word(last, "message")
    evidence = [each for each in (_times(one), f"termination message: {said}" if said else "") if each]
    if case.around.log is None:
        name = f"{case.pod_name} -n {case.namespace}"
        return Cause("exit-code", summary, evidence, f"kubectl gpushare why {name} --logs")
    lines = [line for line in case.around.log.text.splitlines() if line.strip()]
    evidence += [f"log: {line.strip()}" for line in lines[-3:]]
    return Cause("exit-code", summary, evidence, f"read the log: {_logs(case, one)}")


def _logs(case: Case, one: ContainerState) -> str:
    previous = "" if one.ended else " --previous"
    return f"kubectl logs {case.pod_name} -n {case.namespace} -c {one.name}{previous}"


def _times(one: ContainerState) -> str:
    return f"it was restarted {one.restarts} times" if one.restarts > 1 else ""


def _of_job(case: Case) -> Iterator[Cause]:
    """The cause for a Job that failed and whose pods are gone."""
    failed = condition(case.found, "Failed")
    if case.of.kind == "Job" and failed.get("status") == "True" and word(failed, "reason") != "DeadlineExceeded":
        said = word(failed, "message")
        summary = "the Job failed, and its pods are gone"
        evidence = [f"{word(failed, 'reason')}: {said}" if said else word(failed, "reason")]
        yield Cause("exit-code", summary, evidence, f"kubectl describe {case.to_edit}")
