"""Containers that end with an error: killed for memory or by a probe, with an exit code, or with an error of CUDA."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from webhook.cluster.reading import Object, condition, entries, is_true, number, word
from webhook.diagnose.why.case import Case, Cause, amounts
from webhook.diagnose.why.cuda import class_wanted, of_text
from webhook.diagnose.why.state import ContainerState, containers, first, phase, told

_MOST: Final = 100
"""Containers of a pod that are looked at: each looks for its limit among all."""

_SIGKILL: Final = 137
_SIGNALS: Final = {137: "SIGKILL", 139: "SIGSEGV", 143: "SIGTERM", 134: "SIGABRT", 132: "SIGILL", 135: "SIGBUS"}


def causes(case: Case) -> Iterator[Cause]:
    """The causes for which containers of the pod end."""
    yield from islice(_of_texts(case), 1)
    for one in islice(containers(case.pod), _MOST):
        cause = _of_container(case, one)
        if cause is not None:
            yield cause
    failed = condition(case.found, "Failed")
    is_failed = case.of.kind == "Job" and is_true(case.found, "Failed") and word(failed, "reason") != "DeadlineExceeded"
    if case.pod is None and is_failed:
        evidence = [": ".join(filter(None, (word(failed, "reason"), word(failed, "message"))))]
        show = case.remedy("`kubectl describe {object}`")
        yield Cause("exit-code", "the Job failed, and its pods are gone", evidence, show)


def _of_texts(case: Case) -> Iterator[Cause]:
    """The known errors in the log, and in what a probe says."""
    log, probe = case.around.log, first(case.events, ("Unhealthy",))
    if log is not None:
        yield from of_text(case, log.container, f"log of container {log.container}", log.text)
    if probe is not None:
        yield from of_text(case, next((one for one, _, _ in amounts(case.pod)), ""), "probe", probe.message)


def _of_container(case: Case, one: ContainerState) -> Cause | None:
    probe = told(case.events, ("Killing",), f"Container {one.name} failed ")
    if probe and one.restarts:
        summary = f"the kubelet kills container {one.name}, because its probe fails"
        remedy = case.remedy("correct the probe, or give the program more time: {edit}")
        return Cause("liveness", summary, [probe, told(case.events, ("Unhealthy",))], remedy)
    last = one.failure
    # An end is history where the container runs again, and is ready.
    matters = one.ended or one.waiting or not one.ready or phase(case.pod or {}) == "Failed"
    if not last or not matters or word(last, "reason") in ("StartError", "ContainerCannotRun"):
        return None
    if word(last, "reason") == "OOMKilled" or _was_killed_for_memory(case, one, last):
        return _out_of_memory(case, one, word(last, "reason"))
    return _exit(case, one, last)


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
    how = "exit code 137 (SIGKILL), and no event of the kubelet that names a reason"
    needs = "was killed, probably because it needs"
    if reason == "OOMKilled":
        how, needs = reason, "needs"
    summary = f"container {one.name} {needs} more host memory than its limit{f' of {limit}' if limit else ''}"
    evidence = [how, _times(one), "the limit is on memory of the node, not of the GPU"]
    return Cause("out-of-memory-killed", summary, evidence, case.remedy("raise resources.limits.memory: {edit}"))


def _exit(case: Case, one: ContainerState, last: Object) -> Cause:
    code = number(last, "exitCode")
    signal = f" ({_SIGNALS[code]})" if code in _SIGNALS else ""
    kind = "init container" if one.is_init else "container"
    summary = f"{kind} {one.name} ends with exit code {code}{signal}"
    said = word(last, "message")
    wanted = class_wanted(case) if any(one.runtime_class for one in case.around.chains) else None
    hint = f"the device plugin runs under RuntimeClass {wanted}, and the pod under none" if wanted else ""
    evidence = [_times(one), f"termination message: {said}" if said else "", hint]
    if case.around.log is None:
        return Cause("exit-code", summary, evidence, case.remedy("`kubectl gpushare why {pod} --logs`"))
    lines = [line for line in case.around.log.text.splitlines() if line.strip()]
    evidence += [f"log: {line.strip()}" for line in lines[-3:]]
    previous = "" if one.ended else " --previous"
    show = case.remedy(f"read the log: `kubectl logs {{pod}} -c {{container}}{previous}`", container=one.name)
    return Cause("exit-code", summary, evidence, show)


def _times(one: ContainerState) -> str:
    return f"it was restarted {one.restarts} times" if one.restarts > 1 else ""
