"""The pods that a policy checks, without those that are exempt, and their requests for GPUs, as expressions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from webhook.inprocess.cel import elements, in_chunks, let, mapping, record, text
from webhook.policy.pods.gpu_resources import MIG
from webhook.policy.pods.pod import APP, INIT, SIDECAR

_WINDOWS = (
    f"{mapping('one.spec', 'os')}[?'name'].orValue('') == 'windows' || "
    f"{mapping('one.spec', 'nodeSelector')}[?'kubernetes.io/os'].orValue('') == 'windows'"
)
_EXEMPT = (
    "variables.exemptAnnotation.size() > 0 && "
    "one.annotations[?variables.exemptAnnotation.key].orValue('') == variables.exemptAnnotation.value"
)


MOST: Final = 1000
"""Elements of each list of a pod that policies read, such as its containers or the variables of one.

The API server's time to look through a list grows faster than the list, within its own budget: 20,000 variables take
seconds. A policy that checks denies a larger pod, and injections leave it as it is.
"""

MOST_NAMES: Final = 10_000
"""Names of resources in limits and requests of all containers together: more exceed the budget of an expression."""

MOST_VARIABLES: Final = 10_000
"""Variables of all containers together."""

MOST_MOUNTS: Final = 2000
"""Mounts of all containers together: to read the path of each takes more steps."""

TOO_LARGE: Final = (
    f"a list of the pod or of a container has more than {MOST} entries, or its containers have more than {MOST_NAMES} "
    f"names of resources, {MOST_VARIABLES} variables or {MOST_MOUNTS} mounts together"
)
"""The reason why a policy denies a pod that it does not read."""

SHORTEN: Final = "shorten the lists, or split the pod"
"""The remedy for such a pod."""


def elements_together(*fields: str) -> str:
    """The number of elements that a container `c` has in fields, which are absent or of their type."""
    return " + ".join(f"c.?{field}.orValue([]).size()" for field in fields)


def known_in(gpus: str, amounts: str) -> str:
    """Whether a mapping has one of the names of GPU resources that an expression lists."""
    return f"{gpus}.exists(n, n in {amounts})"


def mig_in(amounts: str) -> str:
    """Whether a mapping has the name of a MIG slice, which the settings may not name."""
    return f"{amounts}.exists(n, n.startsWith({text(MIG)}))"


_MOST_NAMES = 500
"""Names of resources in one mapping that are read one by one: more take longer than a request may take."""


def gpu_names(amounts: str) -> str:
    """The names of GPU resources in a mapping, sorted. Those of the settings are looked up, however many it has."""
    of_mig = f"{amounts}.filter(name, name.startsWith({text(MIG)}) && !(name in variables.gpus))"
    known = f"variables.gpus.filter(name, name in {amounts})"
    return f"({known} + ({amounts}.size() <= {_MOST_NAMES} ? {of_mig} : [])).sort()"


def _in_amounts(test: str) -> str:
    """Whether a container has a mapping `at` of amounts that passes a test.

    It makes no list or mapping: a pod may have 20,000 containers.
    """
    of_fields = [
        f"has({at}) && type({at}) == map && ({test.replace('{at}', at)})"
        for at in ("c.resources.limits", "c.resources.requests")
    ]
    return f"type(c) == map && has(c.resources) && type(c.resources) == map && ({' || '.join(of_fields)})"


_NAMES_KNOWN = known_in("variables.gpus", "{at}")
_NAMES_KNOWN_GPU = _in_amounts(_NAMES_KNOWN)
"""Whether a container names a GPU resource of the settings."""

_NAMES_GPU = _in_amounts(f"{_NAMES_KNOWN} || {{at}}.size() <= {_MOST_NAMES} && {mig_in('{at}')}")
"""Whether a container names any GPU resource."""


def quantity_text(value: str) -> str:
    """The text of a quantity of JSON, which may be a number; empty where it is no quantity. Null is 0."""
    number = "type(value) == int || type(value) == double ? string(value) : value == null ? '0' : ''"
    return let("value", value, f"type(value) == string ? string(value).trim() : {number}")


def _amount(value: str) -> str:
    """The amount as a number; 0 for one that is malformed, which GPS003 reports."""
    return let("number", quantity_text(value), "isQuantity(number) ? quantity(number).asApproximateFloat() : 0.0")


def is_whole(amount: str) -> str:
    """Whether an amount above 0 is a whole number. From 2^53 on, a number of CEL has no fraction."""
    return f"({amount} >= 9000000000000000.0 || {amount} == double(int({amount})))"


_NANO = "1000000000"
_MOST = "1e91"
"""The greatest amount that a message shows: greater ones count as equal, as in `webhook.policy.pods.quantity`."""


def amount_text(amount: str) -> str:
    """An amount above 0 in a message, as `webhook.policy.pods.quantity.amount`: plain, or with an exponent."""
    fraction = f"string(nano % {_NANO} + {_NANO}).substring(1).find('^[0-9]*[1-9]')"
    plain = let(
        "nano",
        f"int({amount} * {_NANO}.0 + 0.5)",
        f"string(nano / {_NANO}) + (nano % {_NANO} == 0 ? '' : '.' + {fraction})",
    )
    exponent = "string(int(digits.substring(digits.indexOf('e') + 1).replace('+', '')))"
    second = "digits.contains('.') ? digits.substring(2, 3) : digits.contains('e') ? '0' : digits.substring(1, 2)"
    long = let(
        "digits",
        f"{amount} < 1e18 ? string(int({amount})) : string({amount} < {_MOST} ? {amount} : {_MOST})",
        f"digits.substring(0, 1) + '.' + ({second}) + 'e' + "
        f"(digits.contains('e') ? {exponent} : string(digits.size() - 1))",
    )
    return f"({amount} < 10000000.0 ? {plain} : {long})"


_REQUEST = record(
    container="c",
    place="field + '/' + string(start + place)",
    kind=f"field == 'containers' ? {text(APP)} : "
    f"c[?'restartPolicy'].orValue('') == 'Always' ? {text(SIDECAR)} : {text(INIT)}",
    label="[c[?'name'].orValue('')].map(label, type(label) == string && label != '' ? label : "
    "'[' + string(start + place) + ']')[0]",
    name="name",
    amount=_amount("amounts[name]"),
)

_OF_CONTAINER = let(
    "limits",
    mapping("c.resources", "limits"),
    let(
        "requests",
        mapping("c.resources", "requests"),
        f"[limits].map(amounts, {gpu_names('limits')}.map(name, {_REQUEST}))[0] + "
        f"[requests].map(amounts, {gpu_names('requests')}.filter(name, !(name in limits)).map(name, {_REQUEST}))[0]",
    ),
)

_REQUESTS = (
    "['initContainers', 'containers'].map(field, "
    + in_chunks(
        let("held", "one.spec[?field].orValue(dyn(null))", "type(held) == list ? held : dyn([])"),
        f"chunk.transformList(place, c, {_NAMES_GPU}, {_OF_CONTAINER}).flatten()",
    )
    + ").flatten()"
)

_CONTAINERS = f"({elements('one.pod.spec', 'initContainers')} + {elements('one.pod.spec', 'containers')})"


def _is_long(holder: str, field: str) -> str:
    """Whether a list or mapping in a field of a mapping has too many entries."""
    found = f"{holder}[?{text(field)}].orValue(dyn(null))"
    return f"[{found}].exists(held, (type(held) == list || type(held) == map) && held.size() > {MOST})"


_AMOUNTS = [(mapping("c", "resources"), field) for field in ("limits", "requests")]
_LONG_LISTS = " || ".join(_is_long(*at) for at in [("c", "env"), ("c", "volumeMounts"), *_AMOUNTS])
_LONG_POD = " || ".join(_is_long("one.pod.spec", field) for field in ("volumes", "tolerations"))


def _are_many(most: int, *held: tuple[str, str]) -> str:
    """Whether the containers `listed` have too many elements together in fields of holders."""
    sizes = " + ".join(_size(*at) for at in held)
    return f"listed.map(c, type(c) == map ? {sizes} : 0).sum() > {most}"


def _size(holder: str, field: str) -> str:
    found = f"{holder}[?{text(field)}].orValue(dyn(null))"
    return let("held", found, "type(held) == list || type(held) == map ? held.size() : 0")


_HAS_MANY_NAMES = "type(one.pod[?'spec'].orValue(dyn(null))) == map && " + let(
    "listed", _CONTAINERS, f"listed.size() <= {MOST} && {_are_many(MOST_NAMES, *_AMOUNTS)}"
)
_LARGE = "type(one.pod[?'spec'].orValue(dyn(null))) == map && " + let(
    "listed",
    _CONTAINERS,
    f"listed.size() > {MOST} || (variables.many ? listed.exists(c, {_NAMES_KNOWN_GPU}) : "
    f"listed.exists(c, {_NAMES_GPU}) && ({_LONG_POD} || {_are_many(MOST_VARIABLES, ('c', 'env'))} || "
    f"{_are_many(MOST_MOUNTS, ('c', 'volumeMounts'))} || listed.exists(c, type(c) == map && ({_LONG_LISTS}))))",
)
"""A pod of too many containers is large, whatever it asks for; another pod is large only if it names a GPU.

Among many names, only those of the settings are looked up.
"""

VARIABLES: Final[Mapping[str, str]] = {
    "gpus": "variables.shared + variables.whole + variables.mig",
    "many": f"variables.changed.exists(one, {_HAS_MANY_NAMES})",
    "large": f"variables.changed.exists(one, {_LARGE})",
    "pods": "variables.deferred ? [] : variables.changed.map(one, "
    + record(annotations=mapping("one.pod", "metadata", "annotations"), spec=mapping("one.pod", "spec"))
    + f").filter(one, {elements('one.spec', 'schedulingGates')}.size() == 0 && !({_EXEMPT}) && !({_WINDOWS}))",
    "named": "variables.pods.map(one, " + record(spec="one.spec", requests=f"variables.many ? [] : {_REQUESTS}") + ")",
    "asking": "variables.named.filter(one, one.requests.size() > 0).map(one, "
    + record(spec="one.spec", requests="one.requests.filter(each, each.amount > 0.0)")
    + ").filter(one, one.requests.size() > 0)",
}
"""`many`: a pod has too many names of resources to read each. `large`: a pod has more than policies read. `pods`: those
to check. `named`: the same with every request for a GPU resource, in the order of containers and names. `asking`: those
that ask for a GPU, with the requests above 0."""


def is_mig(name: str) -> str:
    """Whether a GPU resource is a MIG slice."""
    return f"({name} in variables.mig || {name}.startsWith({text(MIG)}) && !({name} in variables.gpus))"
