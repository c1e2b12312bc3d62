"""GPS018: a `gpushare-webhook/` annotation is malformed."""

from __future__ import annotations

from collections.abc import Callable

from webhook.inprocess import gates
from webhook.inprocess.cel import let, message, record, text
from webhook.inprocess.validating.rule import SUPPRESSION, Rule
from webhook.policy.mark import INJECTED
from webhook.policy.placement.memory import ANNOTATION
from webhook.policy.pods.client_limits import ANNOTATIONS, PREFIX, memory, percentage, priority
from webhook.policy.pods.pod import MEMORY, PRIORITY, THREADS


def _refusal(read: Callable[[str], object], wrong: str) -> str:
    """The description of valid values, as a text of CEL: the message with which a function refuses a wrong value."""
    try:
        read(wrong)
    except ValueError as error:
        return text(str(error))
    raise ValueError(f"{wrong!r} must be a value that {read.__name__} refuses")


_PERCENTAGE = (
    "value.matches('^[0-9]{1,3}([.][0-9]{1,6})?$') && double(value) > 0.0 && double(value) <= 100.0 ? '' : "
    + _refusal(percentage, "0")
)
_LIMIT = "^ *([0-9]{1,3}=)?[0-9]{1,9}[MG]B? *$"
_NOTHING = "^ *([0-9]{1,3}=)?0+[MG]B? *$"
_DEVICE = "part.contains('=') ? int(part.split('=')[0].trim()) : 0"
_MEMORY = let(
    "parts",
    "value.split(',', 65)",
    f"!parts.all(part, part.matches('{_LIMIT}') && !part.matches('{_NOTHING}') && ({_DEVICE}) < 64) ? "
    f"{_refusal(memory, '')} : "
    f"parts.map(part, {_DEVICE}).distinct().size() < parts.size() ? {_refusal(memory, '0=1G,0=1G')} : ''",
)
_PRIORITY = f"value in ['0', '1'] ? '' : {_refusal(priority, '2')}"
_FORMS = {THREADS: _PERCENTAGE, MEMORY: _MEMORY, PRIORITY: _PRIORITY}
"""The description of valid values, if a value is wrong; else empty text."""

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
