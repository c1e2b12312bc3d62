"""What every remedy of `why` keeps to, whatever the cause: each answer of these tests goes through it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from webhook.cluster.reading import entries, part, word
from webhook.diagnose.finding import Finding, Remedy
from webhook.diagnose.pods import extended
from webhook.diagnose.why.case import Case, Why
from webhook.policy.pods.pod import Pod
from webhook.policy.pods.quantity import NANO
from webhook.policy.pods.requests import GpuRequests

ENDS = ("being deleted", "has room now", "does not exist any more", "is not ready", "went away", "evicted")
"""Words of summaries about a state that ends of itself, or once a machine is off."""

EDITS = re.compile(r"\b(set|add|remove|run|use|install|put|restart|start|apply|ask|lower|share|let|create)\b")


def helps(case: Case, answer: Why) -> Why:
    """The answer, once its remedies are checked."""
    for one in answer.causes:
        text = str(Remedy(one.remedy))
        commands = Remedy(one.remedy).as_data()["commands"]
        assert text or answer.is_well, one
        assert not text or commands or EDITS.search(text), text
        assert all(shlex.split(shlex.join(each)) == each for each in commands)
        assert not re.search(r"\bwait\b", text) or any(each in one.cause for each in ENDS), (one.cause, text)
        assert "gpushare doctor" not in text or one.finding == "webhook-unreachable", (one.finding, text)
        assert list(_had_already(case, one, text)) == [], text
    return answer


def _had_already(case: Case, cause: Finding, text: str) -> Iterator[str]:
    """What the remedy asks for although the objects have it."""
    spec = part(case.pod, "spec")
    positive = GpuRequests(Pod.of_template({"spec": spec}), extended).positive
    amounts = [(one.container.name, one.resource.name, one.billionths // NANO) for one in positive]
    for name in re.findall(r"set runtimeClassName: (\S+?)[:,]?(?: |$)", text):
        yield from [name] if word(spec, "runtimeClassName") == name else ()
    for resource, units in re.findall(r"ask for (\S+): (\d+)", text):
        is_alone = re.search(r"\(container (\S+)\)", cause.cause)
        asked = {name for holder, name, _ in amounts if is_alone is None or holder == is_alone[1]}
        yield from [resource] if resource in asked and units == "1" else ()
    for resource in re.findall(r"ask for (\S+/\S+): kubectl", text):
        yield from [resource] if resource in {name for _, name, _ in amounts} else ()
    for most in re.findall(r"ask for at most (\d+)", text):
        most_asked = max((units for _, _, units in amounts), default=None)
        yield from [most] if most_asked is not None and most_asked <= int(most) else ()
    for variable in re.findall(r"remove ([A-Z_]{5,})", text):
        containers = entries(spec, "containers")
        has = {word(each, "name") for one in containers for each in entries(one, "env")}
        yield from () if variable in has else [variable]
    for key in re.findall(r'tolerate \{key: "([^"]+)"', text):
        held = [one for one in entries(spec, "tolerations") if one.get("key") in (key, None) and "effect" not in one]
        yield from [key] if any(one.get("operator") == "Exists" for one in held) else ()
    for key, value in re.findall(r"kubectl label node \S+ (\S+?)=(\S+?),? ?", text):
        nodes = (one.node.labels for one in case.chains)
        yield from [key] if any(labels.get(key) == value for labels in nodes) else ()
    for count in re.findall(r"--replicas=(\d+)", text):
        yield from [count] if part(case.top[1], "spec").get("replicas", 1) == int(count) else ()
    if "nvidia.com/gpu.sharing-strategy: mps" in text:
        yield from ["mps"] if word(spec, "nodeSelector", "nvidia.com/gpu.sharing-strategy") == "mps" else ()
