"""GPS018: a `gpushare-webhook/` annotation is malformed."""

from __future__ import annotations

from webhook.inprocess import gates
from webhook.inprocess.cel import let, message, record, text
from webhook.inprocess.validating.rule import SUPPRESSION, Rule
from webhook.policy.mark import INJECTED
from webhook.policy.placement.memory import ANNOTATION
from webhook.policy.pods.client_limits import ANNOTATIONS, PREFIX
from webhook.policy.pods.pod import MEMORY, PRIORITY, THREADS

_PERCENTAGE = (
    "value.matches('^[0-9]{1,3}([.][0-9]{1,6})?$') && double(value) > 0.0 && double(value) <= 100.0 ? '' : "
    "'a percentage above 0 and up to 100'"
)
_LIMIT = "^ *([0-9]{1,3}=)?[0-9]{1,9}[KMG]B? *$"
_NOTHING = "^ *([0-9]{1,3}=)?0+[KMG]B? *$"
_DEVICE = "part.contains('=') ? int(part.split('=')[0].trim()) : 0"
_MEMORY = let(
    "parts",
    "value.split(',')",
    f"parts.size() > 64 || !parts.all(part, part.matches('{_LIMIT}') && !part.matches('{_NOTHING}') && "
    f"({_DEVICE}) < 64) ? 'limits such as 0=4G,1=512M' : "
    f"parts.map(part, {_DEVICE}).distinct().size() < parts.size() ? 'one limit per device' : ''",
)
_PRIORITY = "value in ['0', '1'] ? '' : '0 (normal) or 1 (below normal)'"
_FORMS = {THREADS: _PERCENTAGE, MEMORY: _MEMORY, PRIORITY: _PRIORITY}
"""What a value must be, if it is wrong; else empty text. As the functions of `webhook.policy.pods.client_limits`."""

_WANTED = "".join(f"key == {text(one.key)} ? ({_FORMS[one.variable]}) : " for one in ANNOTATIONS)
_KNOWN = ", ".join(text(key) for key in (*(one.key for one in ANNOTATIONS), ANNOTATION))
_SHOWN = "type(held) == map ? 'a mapping' : type(held) == list ? 'a list' : string(held)"


def _violation(problem: str, wanted: str = "''") -> str:
    return f"[{record(problem=text(problem), key='key', value=_SHOWN, wanted=wanted)}]"


_OF_KEY = let(
    "held",
    "one.annotations[key]",
    f"key == {text(ANNOTATION)} ? {_violation('useless')} : !(key in [{_KNOWN}]) ? {_violation('unknown')} : "
    + let(
        "wanted",
        let("value", "type(held) == string ? string(held) : ''", _WANTED + "''"),
        f"wanted == '' ? [] : {_violation('wrong', 'wanted')}",
    ),
)
_MOST = 500
"""Annotations that are read one by one. Those that may deny a pod are looked up, however many a pod has."""

_OTHERS = (
    f"one.annotations.filter(key, key.startsWith({text(PREFIX)}) && key != {text(INJECTED)} && !(key in [{_KNOWN}]) && "
    "variables.exemptAnnotation[?'key'].orValue('') != key)"
)
_KEYS = (
    f"([{_KNOWN}].filter(key, key in one.annotations) + (one.annotations.size() <= {_MOST} ? {_OTHERS} : [])).sort()"
)

RULE = Rule(
    "GPS018",
    f"variables.pods.map(one, {_KEYS}.map(key, {_OF_KEY})).flatten(2)",
    "(violation.problem == 'wrong' ? "
    + message("annotation {} cannot be {}", ["violation.key", "violation.value"])
    + " : violation.problem == 'unknown' ? "
    + message("annotation {} is not a gpushare-webhook annotation", ["violation.key"])
    + " : variables.shared.size() == 0 ? "
    + message("annotation {} has no effect: the settings name no shared resource", ["violation.key"])
    + " : "
    + message("annotation {} has no effect: injections.memory is off", ["violation.key"])
    + ")",
    "'use ' + violation.wanted + ', in quotes'",
    gates.ANNOTATED,
    (*SUPPRESSION, "injections.memory.enabled"),
    may_deny="violation.problem == 'wrong'",
)
