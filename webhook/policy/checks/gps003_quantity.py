"""A GPU quantity that the API server would refuse.

Reads: `resources.limits` and `resources.requests` for every GPU resource.
Why: extended resources are whole and not negative, cannot be overcommitted, and are given as limits, so that a request
must equal its limit and cannot stand alone.
Remedy: give a whole number under `limits` only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webhook.policy.checks.check import Check, Scope
from webhook.policy.context import PodContext
from webhook.policy.pods.pod import Container
from webhook.policy.pods.quantity import QuantityError, is_whole, parse
from webhook.policy.verdict import Claim, Severity
from webhook.policy.wording import message


def run(context: PodContext) -> Iterator[Claim]:
    """One claim a wrong value; a pair that differs is told at the request."""
    for named in context.demand.names:
        yield from _container(named.container, named.resource.name)


def _container(container: Container, name: str) -> Sequence[Claim]:
    limits, requests = container.limits, container.requests
    claims = []
    for field, values in (("limits", limits), ("requests", requests)):
        if name in values and (wrong := _wrong(values[name])) is not None:
            path = (*container.path, "resources", field, name)
            said = message(f"{container.kind} {{}}: {{}} of {{}} {wrong}", container.name, _shown(values[name]), name)
            claims.append(Claim(path, said, "give a whole number, such as 1"))
    if claims or name not in requests:
        return claims
    path = (*container.path, "resources", "requests", name)
    if name not in limits:
        said = message(f"{container.kind} {{}} requests {{}} without a limit", container.name, name)
        return [Claim(path, said, "give it under limits, alone or with the same value")]
    if parse(limits[name]) != parse(requests[name]):
        said = message(f"{container.kind} {{}} requests another amount of {{}} than its limit", container.name, name)
        return [Claim(path, said, "make both equal, or leave the request out")]
    return []


def _wrong(value: object) -> str | None:
    try:
        billionths = parse(value)
    except QuantityError:
        return "is not a quantity"
    if billionths < 0:
        return "is negative"
    return None if is_whole(billionths) else "is not whole"


def _shown(value: object) -> object:
    return "true or false" if isinstance(value, bool) else value


CHECK = Check("GPS003", Severity.DENY, Scope.NAMES, run, __doc__)
