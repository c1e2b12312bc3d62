"""Where policies apply: conditions on the namespace of a request, and the namespaces that no policy sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from webhook.inprocess.cel import literal
from webhook.policy.settings.elements import NamespaceRule
from webhook.policy.settings.settings import Settings

FIRST_MATCH: Final = (
    "(%s.filter(rule, rule.exists(pattern, pattern.startsWith('^') && "
    "request.?namespace.orValue('').matches(pattern))) + [[%s]])[0][0] == %s"
)
"""Whether the first matching rule gives a value: values with patterns, the value without a rule, the wanted one."""

_ALWAYS_EXCLUDED: Final = ("kube-system", "kube-node-lease")


def condition(name: str, rules: Sequence[NamespaceRule], values: Sequence[str], wanted: str) -> dict[str, str]:
    """The condition that a namespace has the wanted value. `values`: that without a rule, then those of the rules."""
    listed = [
        [value, *(f"^{pattern.replace('*', '.*')}$" for pattern in rule.names)]
        for value, rule in zip(values[1:], rules, strict=True)
    ]
    return {"name": name, "expression": FIRST_MATCH % (literal(listed), literal(values[0]), literal(wanted))}


def matched(settings: Settings, own: str | None) -> Mapping[str, Any]:
    """The `matchResources` of a binding: the namespaces that hooks see by default. `own` is the one of the release."""
    names = dict.fromkeys((*([] if own is None else [own]), *_ALWAYS_EXCLUDED, *settings.exempt.namespaces))
    excluded = [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": list(names)}]
    if settings.exempt.label is not None:
        key, _, value = settings.exempt.label.partition("=")
        excluded.append({"key": key, "operator": "NotIn", "values": [value or "true"]})
    return {"namespaceSelector": {"matchExpressions": excluded}}
