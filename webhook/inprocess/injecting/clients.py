"""Which containers of a new pod ask for a GPU, and which of them become clients of MPS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from webhook.inprocess.cel import record
from webhook.inprocess.pods import is_mig

LIMITED: Final = "has(c.resources) && has(c.resources.limits)"
"""Whether the container `c` has limits."""

_POSITIVE = "sign(quantity(c.resources.limits[n])) > 0"


def asks_for(names: str) -> str:
    """Whether the container `c` asks for more than nothing of one of the resources that a variable names."""
    return f"{LIMITED} && variables.{names}.exists(n, n in c.resources.limits && {_POSITIVE})"


def names_asked(names: str) -> str:
    """Those of the resources that a variable names for which the container `c`, which has limits, asks."""
    return f"variables.{names}.filter(n, n in c.resources.limits && {_POSITIVE})"


LONGEST: Final = 4096
"""Characters of an annotation's value that are read. A longer one takes seconds: what it lists is added again."""


def listed(annotation: str) -> str:
    """The parts of the list with commas in an annotation."""
    value = f"variables.annotations[?'{annotation}'].orValue('')"
    return f"[{value}].map(t, t.size() <= {LONGEST} ? t.split(',') : [])[0]"


def sets(container: str, variable: str) -> str:
    """Whether a container sets an environment variable, which is a text of CEL."""
    return f"has({container}.env) && {container}.env.exists(v, v.name == {variable})"


_IS_EXEMPT = """variables.exemptAnnotation.size() > 0
&& variables.annotations[?variables.exemptAnnotation.key].orValue('') == variables.exemptAnnotation.value
|| object.spec.?os.?name.orValue('') == 'windows'
|| object.spec.?nodeSelector[?'kubernetes.io/os'].orValue('') == 'windows'"""

_LANDING = """variables.isExempt || variables.asksForMig
|| variables.options.knowsNodes == 'true' && variables.parameters[?'sharing'].orValue('') != 'mps' ? [] :
variables.shared.filter(n, n in variables.renamed ? variables.landings[0].mpsRenamed : variables.landings[0].mps)"""


def _clients_in(field: str) -> str:
    client = record(at=f"'/spec/{field}/' + string(i)", container="c", resource=f"{names_asked('landing')}[0]")
    return f"transformList(i, c, {asks_for('landing')}, {client})"


CANDIDATES: Final[Mapping[str, str]] = {"candidates": f"[{record(spec='object.spec', requests='[]')}]"}
"""The pod, as `webhook.inprocess.landing` reads it."""

VARIABLES: Final[Mapping[str, str]] = {
    "annotations": "object.metadata.?annotations.orValue({})",
    "isExempt": _IS_EXEMPT,
    # The API server accepts no pod that names an extended resource under `requests` alone.
    "containers": "object.spec.?initContainers.orValue([]) + object.spec.containers",
    "asksForMig": f"variables.containers.exists(c, {LIMITED} && "
    f"c.resources.limits.exists(n, {is_mig('n')} && {_POSITIVE}))",
    "asks": f"!variables.isExempt && (variables.asksForMig || variables.containers.exists(c, {asks_for('gpus')}))",
    "landing": _LANDING,
    "clients": f"""object.spec.?initContainers.orValue([]).{_clients_in("initContainers")}
+ object.spec.containers.{_clients_in("containers")}""",
}
"""The variables, each with its expression.

`asks`: the pod asks for a GPU. `asksForMig`: for a MIG slice, which the device plugin rejects together with MPS.
`landing`: the shared resources with which the pod could land on an MPS node. `clients`: the containers that ask for
one of these, each with its place and the first of them.
"""
