"""GPS003: a GPU quantity is one that the API server rejects."""

from __future__ import annotations

from webhook.inprocess import gates
from webhook.inprocess.cel import let, mapping, message, record, text
from webhook.inprocess.pods import gpu_names, quantity_text
from webhook.inprocess.validating.rule import SUPPRESSION, Rule

_PLACEHOLDER = r"\\{\\{|\\$\\{|\\$\\(|^\\$[A-Za-z_][A-Za-z0-9_]*$"
"""As `webhook.policy.pods.reading` recognises them."""

_WRONG = let(
    "number",
    quantity_text("value"),
    f"!isQuantity(number) ? (number.matches('{_PLACEHOLDER}') ? 'a template placeholder' : 'not a quantity') : "
    "quantity(number).isLessThan(quantity('0')) ? 'negative' : "
    "quantity(number).isInteger() || quantity(number).asApproximateFloat() >= 9000000000000000.0 ? '' : "
    "'not a whole number'",
)
"""The name of a value that is no amount; empty for an amount."""

_SHOWN = "type(value) == bool ? 'true or false' : type(value) == map ? 'a mapping' : type(value) == list ? 'a list' : "
_SHOWN += "string(value)"


def _problem(problem: str, value: str = "''", what: str = "''") -> str:
    return record(problem=text(problem), request="each", value=value, what=what)


_OF_VALUES = (
    "[limits, requests].filter(amounts, each.name in amounts).map(amounts, [amounts[each.name]].map(value, "
    + let("what", _WRONG, f"what == '' ? [] : [{_problem('wrong', _SHOWN, 'what')}]")
    + ")[0]).flatten()"
)
_DIFFERS = let(
    "both",
    f"[limits[each.name], requests[each.name]].map(value, quantity({quantity_text('value')}))",
    f"both[0].compareTo(both[1]) == 0 ? [] : [{_problem('differs')}]",
)
_OF_REQUEST = let(
    "limits",
    mapping("each.container", "resources", "limits"),
    let(
        "requests",
        mapping("each.container", "resources", "requests"),
        let(
            "wrong",
            _OF_VALUES,
            "wrong.size() > 0 || !(each.name in requests) ? wrong : "
            f"!(each.name in limits) ? [{_problem('unlimited')}] : {_DIFFERS}",
        ),
    ),
)
_OF_POD = (
    "['limits', 'requests'].map(field, "
    + mapping("one.spec", "resources")
    + "[?field].orValue(dyn(null))).filter(amounts, type(amounts) == map)"
    f".map(amounts, {gpu_names('amounts')}.map(name, "
    + let("each", record(name="name"), _problem("pod"))
    + ")).flatten()"
)
"""The resources of the pod as a whole, where GPUs are illegal."""

_NAMES = ["violation.request.label", "violation.request.name"]
_MESSAGES = (
    "violation.problem == 'wrong' ? "
    + message(
        "{kind} {}: {} of {} is {what}",
        ["violation.request.label", "violation.value", "violation.request.name"],
        kind="violation.request.kind",
        what="violation.what",
    )
    + " : violation.problem == 'unlimited' ? "
    + message("{kind} {} requests {} without a limit", _NAMES, kind="violation.request.kind")
    + " : violation.problem == 'differs' ? "
    + message("{kind} {} requests an amount of {} that differs from its limit", _NAMES, kind="violation.request.kind")
    + " : "
    + message("the pod as a whole asks for {}; only its containers may", ["violation.request.name"])
)
_REMEDIES = (
    "{'unlimited': 'set it under limits, alone or with the same value', "
    "'differs': 'make both equal, or omit the request', 'pod': 'move it into a container'}"
    "[?violation.problem].orValue(violation.what == 'a template placeholder' ? "
    "'write the amount, or render the template first' : 'use a whole number, such as 1')"
)

RULE = Rule(
    "GPS003",
    f"variables.named.map(one, one.requests.map(each, {_OF_REQUEST}).flatten() + {_OF_POD}).flatten()",
    f"({_MESSAGES})",
    _REMEDIES,
    gates.QUANTITY,
    SUPPRESSION,
)
