"""Parts of remedies about limits, as `webhook.policy.replica_limits` and `other_schedulers` write them."""

from __future__ import annotations

from typing import Final

from webhook.inprocess.cel import let, mapping, text
from webhook.policy.other_schedulers import MANAGERS

FEWER_REPLICAS: Final = let(
    "most",
    "[violation.limit, variables.limits.pod].filter(limit, limit >= 0).min()",
    "most == 1 ? 'ask for 1' : 'ask for at most ' + string(most)",
)


def whole_cards(pod: str, name: str) -> str:
    """To require whole cards, with the words that join it to another remedy; empty where it helps nothing."""
    return (
        f"({name} in variables.renamed || variables.mpsLabels.size() == 0 || !{pod}.lands.whole || "
        f"{pod}.spec[?'nodeName'].orValue('') != '' ? '' : "
        "', or, if the cluster has whole cards, require them by node affinity: ' + variables.wholeCards)"
    )


def _names_any(prefixes: tuple[str, ...]) -> str:
    starts = " || ".join(f"name.startsWith({text(prefix)})" for prefix in prefixes)
    amounts = f"[{mapping('c', 'resources', 'limits')}, {mapping('c', 'resources', 'requests')}]"
    return (
        "['initContainers', 'containers'].exists(field, [violation.pod.spec[?field].orValue(dyn(null))].exists(listed, "
        f"type(listed) == list && listed.size() <= 500 && listed.exists(c, type(c) == map && "
        f"{amounts}.exists(amounts, amounts.size() <= 500 && amounts.exists(name, {starts})))))"
    )


def _of_managers() -> str:
    cases = [
        f"{_names_any(one.resources)} ? {text(f'; for a cluster that {one.name} manages, {one.remedy}')} : "
        for one in MANAGERS
        if one.resources
    ]
    return f"({''.join(cases)}'')"


OTHER_SCHEDULER: Final = _of_managers()
"""To describe the cluster of the scheduler whose resources a pod names."""
