"""Workloads without pods: they wait on purpose, or the API server, a webhook, a policy or a quota refuses the pods."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from webhook.cluster.classes import KUEUE
from webhook.cluster.reading import Object, condition, entries, is_true, number, part, word
from webhook.diagnose.finding import Finding, Remedy, named
from webhook.diagnose.why.case import Case, Row, by_words
from webhook.diagnose.why.state import name_of, waits_for_gang, wanted
from webhook.policy.checks import CHECKS
from webhook.policy.context import RequestContext
from webhook.policy.evaluate import Evaluator
from webhook.policy.pods.pod import PIPE_DIRECTORY
from webhook.policy.pods.reading import MalformedError

# Suspended, queued, gated, paused, or scaled to zero.

_QUEUE: Final = f"{KUEUE}/queue-name"


def waiting(case: Case) -> Iterator[Finding]:
    """The causes that a setting of the object, or a queue, explains."""
    if case.of.kind != "Pod":
        yield from _of_workload(case)
    gates = [word(one, "name") for one in entries(case.pod, "spec", "schedulingGates")]
    if any(one.startswith(f"{KUEUE}/") for one in gates):
        yield _queued(case, case.pod, f"Kueue holds the pod with the scheduling gate {gates[0]}")
    elif gates:
        summary = f"the scheduling gate {gates[0]} holds the pod until its controller removes it"
        evidence = [f"spec.schedulingGates: {', '.join(gates)}"]
        yield case.cause("gated", summary, evidence, "find the controller that sets the gate: {edit}")
    elif waits_for_gang(case.pod):
        yield _of_gang(case, word(case.pod, "spec", "schedulingGroup", "podGroupName"))


def _of_gang(case: Case, name: str) -> Finding:
    """The cause where the scheduler places no pod of a PodGroup before enough of them exist (KEP-4671)."""
    group, count = case.gang
    least = number(group, "spec", "schedulingPolicy", "gang", "minCount")
    summary = f"the scheduler waits for the PodGroup {name}, of which the pod is"
    if least:
        summary = f"the scheduler places at least {least} pods of PodGroup {name} at once"
        summary += "" if case.is_saved else f", and {count} exist"
    said = word(condition(case.pod, "PodScheduled"), "message")
    remedy = "look why its controller makes no more pods: `kubectl describe podgroups.scheduling.k8s.io {group} {ns}`"
    if group is None:
        remedy = "create it, or remove schedulingGroup: {edit}"
        summary = f"the PodGroup {name}, of which the pod is, does not exist"
    return case.cause("gang", summary, [f"scheduler: {said}"] if said else (), remedy, group=[named("podgroup", name)])


_HELD: Final = (("QuotaReserved", "False"), ("Evicted", "True"), ("Admitted", "False"))
"""The conditions of a Workload that say why Kueue does not start it, and their status then."""


def _queued(case: Case, held: Object, summary: str) -> Finding:
    """The cause where Kueue holds an object, in the words of its Workload if that is known."""
    queue = word(held, "metadata", "labels", _QUEUE) or word(case.queued, "spec", "queueName")
    found = [one for kind, status in _HELD if (one := condition(case.queued, kind)).get("status") == status]
    summary = ": ".join([summary, *filter(None, (word(one, "message") for one in found[:1]))])
    which = f"Workload {name_of(case.queued)}"
    evidence = [f"{which}: {one['type']} is {one['status']}, reason {word(one, 'reason')}" for one in found]
    evidence += [f"{which}: {said}" for one in found[1:] if (said := word(one, "message"))]
    evidence += [f"label {_QUEUE} is {queue}"] if word(held, "metadata", "labels", _QUEUE) else []
    evidence += [str(one) for one in (*case.events, *case.events_of_makers) if "kueue" in one.source][:2]
    show = "`kubectl describe localqueue {localqueue} {ns}`" if queue else "`kubectl describe localqueue {ns}`"
    return case.cause("queued", summary, evidence, show, localqueue=queue)


def _of_workload(case: Case) -> Iterator[Finding]:
    kind, found = case.of.kind, case.found
    replicas = number(found, "spec", "replicas", default=1)
    is_behind = not case.pod or number(found, "status", "updatedReplicas", default=replicas) < replicas
    if part(found, "spec").get("suspend") is True:  # a Job or CronJob
        if kind == "Job" and (case.queued or word(found, "metadata", "labels", _QUEUE)):
            yield _queued(case, found, "the Job is suspended, and waits in a queue of Kueue")
        else:
            cause = "queued" if kind == "Job" else "paused"
            resume = """`kubectl patch {object} -p '{"spec":{"suspend":false}}'`"""
            yield case.cause(cause, f"the {kind} is suspended: spec.suspend is true", (), resume)
    elif replicas == 0:
        scale = "`kubectl scale --replicas=1 {object}`"
        yield case.cause("scaled-to-zero", f"the {kind} wants no pods: spec.replicas is 0", (), scale)
    elif part(found, "spec").get("paused") is True and is_behind:  # a Deployment
        what = "creates no pods" if not case.pod else "makes no pods of the new template"
        summary = f"the Deployment is paused, and {what}: spec.paused is true"
        yield case.cause("paused", summary, (), "`kubectl rollout resume {object}`")
    elif kind == "DaemonSet" and number(found, "status", "observedGeneration") and not wanted(kind, found):
        summary = "the DaemonSet wants a pod on no node: its node selector, affinity or tolerations exclude all"
        yield case.cause("node-selector", summary, (), "{edit}")


# Refused by the API server.

_MADE: Final = {
    "ReplicaSet": ("status", "replicas"),
    "StatefulSet": ("status", "replicas"),
    "DaemonSet": ("status", "currentNumberScheduled"),
    "Job": ("status", "active"),
}


def refused(case: Case) -> Iterator[Finding]:
    """The cause for which the pods of a workload are not created."""
    if case.of.kind != "Pod" and (said := _refusal(case)):
        known = {check.code for check in CHECKS}
        codes = [code for code in dict.fromkeys(re.findall(r"\bGPS\d{3}\b", said, re.ASCII)) if code in known]
        rows = (_BY_CHECKS, *REFUSALS) if codes else REFUSALS
        for cause in by_words(case, rows, said, [said], codes=", ".join(codes), code=codes[:1]):
            other = _ACCEPTED.get(cause.finding)
            injected = _injected(case, said) if other else ""
            yield replace(cause, remedy=Remedy(f"{injected}, or {other}")) if injected else cause


def _injected(case: Case, said: str) -> str:
    """What helps against the refusal of a part that the template lacks and gpushare-webhook adds; empty for others."""
    maker = case.makers[-1][1] if case.makers else case.found
    spec = part(maker, "spec", "template", "spec")
    pod = {"metadata": part(maker, "spec", "template", "metadata"), "spec": spec}
    evaluator, injections = Evaluator.of(case.settings, case.facts), case.settings.injections
    try:
        verdict = evaluator.verdict(
            evaluator.pods(pod, "", "Pod"), RequestContext(case.of.namespace, hostpath=True, groups=())
        )
    except MalformedError:
        return ""
    has_own_path = any("hostPath" in one for one in entries(spec, "volumes"))
    keys = [one.key for one in injections.tolerations.add if one.key]
    for name, noun, words in (
        ("pipeMount", "the hostPath volume", "gpushare-mps-" if has_own_path else "host-?path|gpushare-mps-"),
        ("tolerations", "the toleration", f"toleration.*({'|'.join(map(re.escape, keys))})" if keys else "$^"),
        ("runtimeClass", "the runtime class", rf"runtime-?class.*\b{re.escape(injections.runtime_class.name)}\b"),
        ("pipeDirectory", f"the variable {PIPE_DIRECTORY}", PIPE_DIRECTORY),
    ):
        if name in verdict.injected and re.search(words, said[:_MOST_SAID], re.IGNORECASE | re.DOTALL):
            off = f"set injections.{name}.enabled: false in its settings"
            return f"gpushare-webhook adds {noun}, which the template lacks: {off}"
    return ""


_MOST_SAID: Final = 1024
"""Characters of a refusal that are searched: the message of an event has as many at most."""

_ACCEPTED: Final = {"denied-by-other": "allow it in the policy", "runtime-class-missing": "create the class"}
"""How the cluster takes a part that it refuses, by the cause."""


def _refusal(case: Case) -> str:
    """What the API server said to the controller that lacks pods; empty where it lacks none."""
    short = [found for kind, found in reversed(case.makers) if kind in _MADE and _lacks_pods(kind, found)]
    failed = [condition(one, "ReplicaFailure") for one in (*short, case.found)]
    said = [word(one, "message") for one in failed if one.get("status") == "True"]
    if short:
        said.append(case.event("FailedCreate").message)
    progressing = condition(case.found, "Progressing")
    if word(progressing, "reason") == "ReplicaSetCreateError":  # the API server refuses the ReplicaSet of the template
        said += [word(progressing, "message"), case.event("ReplicaSetCreateError").message]
    return next(filter(None, said), "")


def _lacks_pods(kind: str, found: Object) -> bool:
    if kind == "Job":
        ended = is_true(found, "Complete") or is_true(found, "Failed")
        done = number(found, "status", "active") + number(found, "status", "succeeded")
        return not ended and done < min(wanted(kind, found), number(found, "spec", "completions", default=1 << 31))
    return number(found, *_MADE[kind]) < wanted(kind, found)


_BY_CHECKS: Final = Row(
    "denied-by-webhook",
    r'admission webhook "(?P<webhook>[^"]{1,253})" denied the request',
    "the webhook {webhook} denies the pods: {codes}",
    "`gpushare-webhook explain {code}`, then {edit}",
)
"""The refusal of a webhook that names checks of this program."""

REFUSALS: Final = (
    Row(
        "webhook-unreachable",
        r'failed calling webhook "(?P<webhook>[^"]{0,253}gpushare[^"]{0,253})"',
        "the API server cannot call the webhook {webhook}",
        "`kubectl gpushare doctor`",
    ),
    Row(
        "webhook-unreachable",
        r'failed calling webhook "(?P<webhook>[^"]{1,253})"',
        "the API server cannot call the webhook {webhook}",
        "`kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations -o wide`, then restore its service",
    ),
    Row(
        "denied-by-webhook",
        r'admission webhook "(?P<webhook>[^"]{0,253}gpushare[^"]{0,253})" denied the request',
        "the webhook {webhook} denies the pods",
        "{edit}",
    ),
    Row(
        "denied-by-other",
        r'admission webhook "(?P<webhook>[^"]{1,253})" denied the request',
        "the webhook {webhook}, which is not gpushare-webhook, denies the pods",
        "correct the template: {edit}",
    ),
    Row(
        "denied-by-other",
        r"ValidatingAdmissionPolicy '(?P<policy>[^']{1,253})'",
        "the ValidatingAdmissionPolicy {policy} denies the pods",
        "correct the template: {edit}",
    ),
    Row(
        "quota",
        r"(?:exceeded|failed) quota: (?P<resourcequota>[^,:\s]{1,253})",
        "the pods exceed the ResourceQuota {resourcequota}",
        "`kubectl describe resourcequota {resourcequota} {ns}`",
    ),
    Row(
        "limit-range",
        r"maximum (?P<name>\S+) usage per (?P<each>\S+) is (?P<amount>[^,]{1,64}), "
        r"but (?:limit|request) is (?P<asked>[^,\s]{1,64})",
        "a LimitRange of the namespace allows at most {amount} of {name} per {each}, and the pods ask for {asked}",
        "ask for at most {amount}: {edit}; or change the LimitRange, which this shows: "
        "`kubectl describe limitrange {ns}`",
    ),
    Row(
        "limit-range",
        r"minimum (?P<name>\S+) usage per (?P<each>\S+) is (?P<amount>[^,]{1,64}), "
        r"but (?:limit|request) is (?P<asked>[^,\s]{1,64})",
        "a LimitRange of the namespace allows at least {amount} of {name} per {each}, and the pods ask for {asked}",
        "ask for at least {amount}: {edit}; or change the LimitRange, which this shows: "
        "`kubectl describe limitrange {ns}`",
    ),
    Row(
        "limit-range",
        r"(?:maximum|minimum) \S+ usage per|limit to request ratio per",
        "a LimitRange refuses the pods",
        "`kubectl describe limitrange {ns}`",
    ),
    Row(
        "pod-security",
        r'violates PodSecurity "(?P<level>[^"]{1,64})".*hostPath',
        "the namespace enforces the Pod Security level {level}, which the pods violate",
        "if gpushare-webhook adds the volume, set podSecurity.unlabelled to this level where the namespace has no "
        "label of it, or injections.pipeMount.enabled: false; otherwise use another namespace",
    ),
    Row(
        "pod-security",
        r'violates PodSecurity "(?P<level>[^"]{1,64})"',
        "the namespace enforces the Pod Security level {level}, which the pods violate",
        "correct the template: {edit}",
    ),
    Row(
        "runtime-class-missing",
        r'RuntimeClass(?:\.\S+)? "(?P<runtimeclass>[^"]{1,253})" not found',
        "the RuntimeClass {runtimeclass} does not exist",
        "create it, or change runtimeClassName: {edit}",
    ),
    Row(
        "service-account-missing",
        r'service ?account "?(?:\S+/)?(?P<serviceaccount>[^":\s]{1,253})"?:? .*not found',
        "the service account {serviceaccount} does not exist",
        "`kubectl create serviceaccount {serviceaccount} {ns}`",
    ),
    Row(
        "priority-class-missing",
        r"no PriorityClass with name (?P<priorityclass>\S{1,253}) was found",
        "the PriorityClass {priorityclass} does not exist",
        "create it, or change priorityClassName: {edit}",
    ),
    Row("denied-by-other", "", "the API server refuses the pods", "correct the template: {edit}"),
)
"""What refuses pods, by its words; the last row is for all others."""
