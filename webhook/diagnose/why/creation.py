"""Workloads whose pods are not created: the API server, a webhook, a policy or a quota refuses them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from webhook.cluster.reading import Object, condition, is_true, number, word
from webhook.diagnose.remedy import Advice, Remedy
from webhook.diagnose.why.case import DOCTOR, Case
from webhook.diagnose.why.cause import Cause
from webhook.diagnose.why.event import first
from webhook.diagnose.why.workload import wanted
from webhook.diagnose.words import named
from webhook.policy.checks import CHECKS
from webhook.policy.commands import Command

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
    if refusal := _refusal(case):
        yield _of_refusal(case, refusal)


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
    if is_true(case.found, "ReplicaFailure"):
        return word(condition(case.found, "ReplicaFailure"), "message")
    progressing = condition(case.found, "Progressing")
    if case.of.kind != "Deployment" or word(progressing, "reason") != "ReplicaSetCreateError":
        return ""
    # The API server refuses the ReplicaSet of the template.
    event = first(case.events_of_makers, ("ReplicaSetCreateError",))
    return word(progressing, "message") or (event.message if event is not None else "")


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
_RANGE: Final = re.compile(
    r"(maximum|minimum) (\S+) usage per (\S+) is ([^,]{1,64}), but (?:limit|request) is ([^,\s]{1,64})"
    r"|(?:maximum|minimum) \S+ usage per|limit to request ratio per",
    re.ASCII,
)
_SECURITY: Final = re.compile(r'violates PodSecurity "([^"]{1,64})"', re.ASCII)
_CLASS: Final = re.compile(r'RuntimeClass(?:\.\S+)? "([^"]{1,253})" not found', re.ASCII)
_ACCOUNT: Final = re.compile(
    r'service ?account "?(?:\S+/)?([^":\s]{1,253})"?:? .*not found|serviceaccount "([^"]{1,253})" not', re.ASCII
)
_PRIORITY: Final = re.compile(r"no PriorityClass with name (\S{1,253}) was found", re.ASCII)
_OURS: Final = "gpushare"


def _of_refusal(case: Case, said: str) -> Cause:
    """The cause for a message of the API server that refuses a pod."""
    cause, summary = "denied-by-other", "the API server refuses the pods"
    remedy: Advice = case.by_edit("correct the template")
    if found := _CALLING.search(said):
        cause, summary = "webhook-unreachable", f"the API server cannot call the webhook {found[1]}"
        kinds = "validatingwebhookconfigurations,mutatingwebhookconfigurations"
        look = Command("kubectl", "get", kinds, "-o", "wide")
        remedy = DOCTOR if _OURS in found[1] else Remedy(look, ", then restore its service")
    elif found := _DENIED.search(said):
        return _of_denial(case, found[1], said)
    elif found := _POLICY.search(said):
        summary = f"the ValidatingAdmissionPolicy {found[1]} denies the pods"
    elif found := _QUOTA.search(said):
        cause, summary = "quota", f"the pods exceed the ResourceQuota {found[1]}"
        remedy = case.kubectl("describe", "resourcequota", named("resourcequota", found[1]))
    elif found := _RANGE.search(said):
        cause, summary, remedy = "limit-range", "a LimitRange refuses the pods", case.kubectl("describe", "limitrange")
        if found[1] is not None:
            bound, name, each, allowed, asked = found.groups()
            most = f"{'at most' if bound == 'maximum' else 'at least'} {allowed}"
            summary = f"a LimitRange of the namespace allows {most} of {name} per {each}, and the pods ask for {asked}"
            change = "; or change the LimitRange, which this shows: "
            remedy = Remedy(f"ask for {most}: ", case.edit, change, remedy)
    elif found := _SECURITY.search(said):
        cause = "pod-security"
        summary = f"the namespace enforces the Pod Security level {found[1]}, which the pods violate"
        turn_off = (
            "set injections.pipeMount.enabled: false if gpushare-webhook adds the volume, or use another namespace"
        )
        remedy = turn_off if "hostPath" in said else remedy
    else:
        return _of_missing(case, said) or Cause(cause, summary, [said], remedy)
    return Cause(cause, summary, [said], remedy)


def _of_denial(case: Case, webhook: str, said: str) -> Cause:
    known = {check.code for check in CHECKS}
    codes = [code for code in dict.fromkeys(_CODE.findall(said)) if code in known]
    if codes:
        summary = f"the webhook {webhook} denies the pods: {', '.join(codes)}"
        remedy = Remedy(Command("gpushare-webhook", "explain", codes[0]), ", then ", case.edit)
        return Cause("denied-by-webhook", summary, [said], remedy)
    if _OURS in webhook:
        return Cause("denied-by-webhook", f"the webhook {webhook} denies the pods", [said], case.edit)
    summary = f"the webhook {webhook}, which is not gpushare-webhook, denies the pods"
    return Cause("denied-by-other", summary, [said], case.by_edit("correct the template"))


def _of_missing(case: Case, said: str) -> Cause | None:
    """The cause for an object that the pods name and that does not exist."""
    remedy: Advice
    if found := _CLASS.search(said):
        cause, what = "runtime-class-missing", f"RuntimeClass {found[1]}"
        remedy = case.by_edit("create it, or change runtimeClassName")
    elif "serviceaccount" in said.lower().replace(" ", "") and (found := _ACCOUNT.search(said)):
        account = found[1] or found[2]
        cause, what = "service-account-missing", f"service account {account}"
        remedy = case.kubectl("create", "serviceaccount", named("serviceaccount", account))
    elif found := _PRIORITY.search(said):
        cause, what = "priority-class-missing", f"PriorityClass {found[1]}"
        remedy = case.by_edit("create it, or change priorityClassName")
    else:
        return None
    return Cause(cause, f"the {what} does not exist", [said], remedy)
