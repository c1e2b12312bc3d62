"""Containers that end with an error: killed for memory or by a probe, with an exit code, or with an error of CUDA."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from webhook.cluster.reading import Object, condition, entries, is_true, number, word
from webhook.diagnose.remedy import Remedy
from webhook.diagnose.why.case import Case, amounts
from webhook.diagnose.why.cause import Cause
from webhook.diagnose.why.cuda import class_wanted, find
from webhook.diagnose.why.event import first
from webhook.diagnose.why.pod_state import ContainerState, containers, phase
from webhook.diagnose.words import container
from webhook.policy.commands import Command

_NOT_STARTED: Final = ("StartError", "ContainerCannotRun")

_MOST: Final = 100
"""Containers of a pod that are looked at: each looks for its limit among all."""

_SIGKILL: Final = 137
_SIGNALS: Final = {137: "SIGKILL", 139: "SIGSEGV", 143: "SIGTERM", 134: "SIGABRT", 132: "SIGILL", 135: "SIGBUS"}


def causes(case: Case) -> Iterator[Cause]:
    """The causes for which containers of the pod end."""
    yield from _of_log(case)
    for one in islice(containers(case.pod), _MOST):
        cause = _of_container(case, one)
        if cause is not None:
            yield cause
    if case.pod is None:
        yield from _of_job(case)


def _of_log(case: Case) -> Iterator[Cause]:
    """The known error in the log, or in what a probe says."""
    log, probe = case.around.log, first(case.events, ("Unhealthy",))
    texts = [] if log is None else [(log.container, f"log of container {log.container}", log.text)]
    if probe is not None:
        texts.append((next((one for one, _, _ in amounts(case.pod)), ""), "probe", probe.message))
    for name, where, text in texts:
        if (found := find(text)) is not None:
            known, line = found
            summary = f"{known.summary} (container {name})"
            yield Cause(known.cause, summary, [f"{where}: {line}"], known.advice(case, name))
            return


def _of_container(case: Case, one: ContainerState) -> Cause | None:
    probe = first(case.events, ("Killing",), f"Container {one.name} failed ")
    if probe is not None and one.restarts:
        summary = f"the kubelet kills container {one.name}, because its probe fails"
        unhealthy = first(case.events, ("Unhealthy",))
        evidence = [str(probe), "" if unhealthy is None else str(unhealthy)]
        remedy = case.by_edit("correct the probe, or give the program more time")
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
    how = "exit code 137 (SIGKILL), and no event of the kubelet that names a reason"
    needs = "was killed, probably because it needs"
    if reason == "OOMKilled":
        how, needs = reason, "needs"
    summary = f"container {one.name} {needs} more host memory than its limit{f' of {limit}' if limit else ''}"
    evidence = [how, _times(one), "the limit is on memory of the node, not of the GPU"]
    remedy = case.by_edit("raise resources.limits.memory")
    return Cause("out-of-memory-killed", summary, evidence, remedy)


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
        again = Command("kubectl", "gpushare", "why", *case.pod_words, "--logs")
        return Cause("exit-code", summary, evidence, again)
    lines = [line for line in case.around.log.text.splitlines() if line.strip()]
    evidence += [f"log: {line.strip()}" for line in lines[-3:]]
    previous = () if one.ended else ("--previous",)
    show = Command("kubectl", "logs", *case.pod_words, "-c", container(one.name), *previous)
    return Cause("exit-code", summary, evidence, Remedy("read the log: ", show))


def _times(one: ContainerState) -> str:
    return f"it was restarted {one.restarts} times" if one.restarts > 1 else ""


def _of_job(case: Case) -> Iterator[Cause]:
    """The cause for a Job that failed and whose pods are gone."""
    failed = condition(case.found, "Failed")
    if case.of.kind == "Job" and is_true(case.found, "Failed") and word(failed, "reason") != "DeadlineExceeded":
        said = word(failed, "message")
        summary = "the Job failed, and its pods are gone"
        evidence = [f"{word(failed, 'reason')}: {said}" if said else word(failed, "reason")]
        yield Cause("exit-code", summary, evidence, Command("kubectl", "describe", *case.to_edit))
