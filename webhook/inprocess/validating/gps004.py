"""GPS004: `CUDA_MPS_PIPE_DIRECTORY` points away from the MPS daemon."""

from __future__ import annotations

from webhook.inprocess import gates
from webhook.inprocess.cel import elements, in_chunks, let, mapping, message, record, text
from webhook.inprocess.landing import IS_FIRST, LANDING_PODS, candidates
from webhook.inprocess.paths import clean_path
from webhook.inprocess.validating.rule import LANDING, IfAllShare, Rule
from webhook.policy.pods.pod import PIPE_DIRECTORY

_ENTRIES = in_chunks(
    elements("each.container", "env"),
    f"chunk.filter(entry, type(entry) == map && entry[?'name'].orValue('') == {text(PIPE_DIRECTORY)})",
)
_SETS = f"one.requests.exists(each, each.name in variables.shared && {_ENTRIES}.size() > 0)"

_PATH = "variables.pipes[each.name].path"
_IS_REFERENCE = "entry[?'valueFrom'].orValue(dyn(null)) != null || value.contains('$(')"
_IS_WRONG = "!value.startsWith('/') || " + let("clean", clean_path("value"), f"clean != '' && clean != {_PATH}")
_VIOLATION = "[{}]".format(record(request="each", value="value", path=_PATH, deny="{deny}"))
_OF_ENTRY = let(
    "entry",
    "entries[entries.size() - 1]",
    let(
        "value",
        "[entry[?'value'].orValue(dyn(''))].map(value, type(value) == string ? string(value) : '')[0]",
        f"{_IS_REFERENCE} ? {_VIOLATION.replace('{deny}', 'false')} : "
        f"{_IS_WRONG} ? {_VIOLATION.replace('{deny}', 'true')} : []",
    ),
)
_OF_CONTAINER = let("entries", _ENTRIES, f"entries.size() == 0 ? [] : {_OF_ENTRY}")

_AMOUNTS = ", ".join(mapping("violation.request.container", "resources", field) for field in ("limits", "requests"))
_HAS_ONE_RESOURCE = f"[[{_AMOUNTS}]].exists(both, variables.shared.filter(n, both.exists(m, n in m)).size() == 1)"

RULE = Rule(
    "GPS004",
    f"{LANDING_PODS}.map(one, one.requests.transformList(place, each, {IS_FIRST}, {_OF_CONTAINER})).flatten(2)",
    "(violation.deny ? "
    + message(
        f"{{kind}} {{}} sets {PIPE_DIRECTORY} to {{}}, where no MPS daemon listens",
        ["violation.request.label", "violation.value"],
        kind="violation.request.kind",
    )
    + " : "
    + message(
        f"{{kind}} {{}} sets {PIPE_DIRECTORY} by reference; it must be {{}}",
        ["violation.request.label", "violation.path"],
        kind="violation.request.kind",
    )
    + ")",
    "'omit the variable, or set it to ' + violation.path",
    gates.VARIABLE,
    LANDING,
    may_deny="violation.deny",
    variables=candidates(_SETS),
    # Known nodes may take a pod for a resource for which labels exclude them: the directory is that of the first.
    if_all_share=IfAllShare(_HAS_ONE_RESOURCE),
)
