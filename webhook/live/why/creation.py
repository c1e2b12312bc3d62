"""Workloads whose pods are not created: the API server, a webhook, a policy or a quota refuses them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from webhook.live.why.case import Case
from webhook.live.why.cause import Cause
from webhook.live.why.event import first
from webhook.live.why.reading import Object, condition, is_true, number, word
from webhook.live.why.workload import wanted
from webhook.policy.checks import CHECKS

_MADE: Final = {
    "ReplicaSet": ("status", "replicas"),
    "StatefulSet": ("status", "replicas"),
    "DaemonSet": ("status", "currentNumberScheduled"),
    "Job": ("status", "active"),
}


def causes(case: Case) -> Iterator[Cause]:
    """The cause for which the pods of a workload are not created."""
    if case.of.kind == "Pod":
        return
    refusal = _refusal(case)
    if refusal:
        yield of_refusal(case, refusal)


def _refusal(case: Case) -> str:
    """What the API server said to the controller that lacks pods; empty where it lacks none."""
    for kind, found in reversed(case.makers):
        if kind not in _MADE or not _lacks_pods(kind, found):
            continue
        failed = condition(found, "ReplicaFailure")
        if failed.get("status") == "True" and (message := word(failed, "message")):
            return message
        event = first(case.events_of_makers, ("FailedCreate",))
        if event is not None:
            return event.message
    top = condition(case.found, "ReplicaFailure")
    return word(top, "message") if top.get("status") == "True" else ""


def _lacks_pods(kind: str, found: Object) -> bool:
    if kind == "Job":
        ended = is_true(found, "Complete") or is_true(found, "Failed")
        done = number(found, "status", "active") + number(found, "status", "succeeded")
        return not ended and done < min(wanted(kind, found), number(found, "spec", "completions", default=1 << 31))
    return number(found, *_MADE[kind]) < wanted(kind, found)


_DENIED: Final = re.compile(r'admission webhook "([^"]{1,253})" denied the request', re.ASCII)
_CALLING: Final = re.compile(r'failed calling webhook "([^"]{1,253})"', re.ASCII)
_POLICY: Final = re.compile(r"ValidatingAdmissionPolicy '([^']{1,253})'", re.ASCII)
_CODE: Final = re.compile(r"\bGPS\d{3}\b", re.ASCII)
_QUOTA: Final = re.compile(r"(?:exceeded|failed) quota: ([^,:\s]{1,253})", re.ASCII)
_RANGE: Final = re.compile(r"(?:maximum|minimum) \S+ usage per|limit to request ratio per", re.ASCII)
_SECURITY: Final = re.compile(r'violates PodSecurity "([^"]{1,64})"', re.ASCII)
_CLASS: Final = re.compile(r'RuntimeClass(?:\.\S+)? "([^"]{1,253})" not found', re.ASCII)
_ACCOUNT: Final = re.compile(
    r'service ?account "?(?:\S+/)?([^":\s]{1,253})"?:? .*not found|serviceaccount "([^"]{1,253})" not', re.ASCII
)
_PRIORITY: Final = re.compile(r"no PriorityClass with name (\S{1,253}) was found", re.ASCII)
_OURS: Final = "gpushare"


def of_refusal(case: Case, said: str) -> Cause:
    """The cause for a message of the API server that refuses a pod."""
    cause = _unreachable(said)
    for make in (_denied, _by_policy, _quota, _limit_range, _security, _missing):
        cause = cause or make(case, said)
    if cause is not None:
        return cause
    summary = "the API server refuses the pods"
    return Cause("denied-by-other", summary, [said], f"correct the template: {case.edit}")


def _unreachable(said: str) -> Cause | None:
    found = _CALLING.search(said)
    if found is None:
        return None
    kinds = "validatingwebhookconfigurations,mutatingwebhookconfigurations"
    remedy = (
        "kubectl gpushare doctor" if _OURS in found[1] else f"kubectl get {kinds} -o wide, then restore its service"
    )
    return Cause("webhook-unreachable", f"the API server cannot call the webhook {found[1]}", [said], remedy)


def _denied(case: Case, said: str) -> Cause | None:
    found = _DENIED.search(said)
    if found is None:
        return None
    known = {check.code for check in CHECKS}
    codes = [code for code in dict.fromkeys(_CODE.findall(said)) if code in known]
    if codes:
        summary = f"the webhook {found[1]} denies the pods: {', '.join(codes)}"
        remedy = f"gpushare-webhook explain {codes[0]}, then {case.edit}"
        return Cause("denied-by-webhook", summary, [said], remedy)
    if _OURS in found[1]:
        summary = f"the webhook {found[1]} denies the pods"
        return Cause("denied-by-webhook", summary, [said], f"{case.edit}")
    summary = f"the webhook {found[1]}, which is not gpushare-webhook, denies the pods"
    return Cause("denied-by-other", summary, [said], f"correct the template: {case.edit}")


def _by_policy(case: Case, said: str) -> Cause | None:
    found = _POLICY.search(said)
    if found is None:
        return None
    summary = f"the ValidatingAdmissionPolicy {found[1]} denies the pods"
    return Cause("denied-by-other", summary, [said], f"correct the template: {case.edit}")


def _quota(case: Case, said: str) -> Cause | None:
    found = _QUOTA.search(said)
    if found is None:
        return None
    summary = f"the pods exceed the ResourceQuota {found[1]}"
    return Cause("quota", summary, [said], f"kubectl describe resourcequota {found[1]} -n {case.namespace}")


def _limit_range(case: Case, said: str) -> Cause | None:
    if not _RANGE.search(said):
        return None
    return Cause(
        "limit-range", "a LimitRange refuses the pods", [said], f"kubectl describe limitrange -n {case.namespace}"
    )


def _security(case: Case, said: str) -> Cause | None:
    found = _SECURITY.search(said)
    if found is None:
        return None
    summary = f"the namespace enforces the Pod Security level {found[1]}, which the pods violate"
    if "hostPath" in said:
        remedy = "set injections.pipeMount.enabled: false if gpushare-webhook adds the volume, or use another namespace"
    else:
        remedy = f"correct the template: {case.edit}"
    return Cause("pod-security", summary, [said], remedy)


def _missing(case: Case, said: str) -> Cause | None:
    """The cause for an object that the pods name and that does not exist."""
    edit = f"{case.edit}"
    if found := _CLASS.search(said):
        summary = f"the RuntimeClass {found[1]} does not exist"
        return Cause("runtime-class-missing", summary, [said], f"create it, or change runtimeClassName: {edit}")
    if "serviceaccount" in said.lower().replace(" ", "") and (found := _ACCOUNT.search(said)):
        name = found[1] or found[2]
        summary = f"the service account {name} does not exist"
        remedy = f"kubectl create serviceaccount {name} -n {case.namespace}"
        return Cause("service-account-missing", summary, [said], remedy)
    if found := _PRIORITY.search(said):
        summary = f"the PriorityClass {found[1]} does not exist"
        return Cause("priority-class-missing", summary, [said], f"create it, or change priorityClassName: {edit}")
    return None
