"""What the policies answer, beside the webhook's answer to the same object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.cluster.harness.api import Object
    from tests.cluster.policies.sides import Answer


@dataclass(frozen=True, slots=True)
class Decided:
    """The codes that policies deny, those of which they warn, and whether they make injections."""

    denied: frozenset[str]
    warned: frozenset[str]
    injects: bool

    @classmethod
    def by(cls, objects: Sequence[Object]) -> Decided:
        """The codes of the bindings among these objects."""
        actions: dict[str, set[str]] = {"Deny": set(), "Warn": set(), "Audit": set()}
        for one in objects:
            if one["kind"] == "ValidatingAdmissionPolicyBinding":
                code = next(part for part in one["metadata"]["name"].split("-") if part.startswith("gps0"))
                for action in one["spec"]["validationActions"]:
                    actions[action].add(code.upper())
        names = [one["metadata"]["name"] for one in objects]
        injects = any(name.endswith("-injections") for name in names)
        return cls(frozenset(actions["Deny"]), frozenset(actions["Warn"]), injects)


def differences(by_policies: Answer, by_webhook: Answer, decided: Decided) -> list[str]:
    """What differs between both answers, in the codes that the policies decide.

    The API server reports one of the policies that deny. A webhook that denies for another code hides the object.
    """
    expected = {code: line for code, line in by_webhook.lines.items() if code in decided.denied}
    found = by_policies.lines
    wrong = []
    if bool(expected) is not bool(found) or not found.items() <= expected.items():
        wrong.append(f"denied with {found or by_policies.message}, expected {expected}")
    if decided.injects and not found and not by_webhook.lines:
        wrong += _of_accepted(by_policies, by_webhook)
    warned = {code: line for code, line in by_webhook.warned.items() if code in decided.warned}
    if by_policies.status < 300 and by_webhook.status < 300 and by_policies.warned != warned:
        wrong.append(f"warned with {by_policies.warned}, expected {warned}")
    return wrong


def _of_accepted(by_policies: Answer, by_webhook: Answer) -> list[str]:
    """What differs in an object that neither denies; the API server may reject it for another reason."""
    if by_policies.status != by_webhook.status:
        return [f"{by_policies.status} {by_policies.message}, expected {by_webhook.status} {by_webhook.message}"]
    return changes("", by_policies.made, by_webhook.made)


def changes(path: str, found: object, expected: object) -> list[str]:
    """The places where two values differ."""
    if isinstance(found, dict) and isinstance(expected, dict):
        keys = sorted({*found, *expected})
        return [one for key in keys for one in changes(f"{path}/{key}", found.get(key), expected.get(key))]
    if isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        pairs = enumerate(zip(found, expected, strict=True))
        return [one for at, (here, there) in pairs for one in changes(f"{path}/{at}", here, there)]
    return [] if found == expected else [f"{path}: {found!r}, expected {expected!r}"]


def report(wrong: Mapping[str, list[str]]) -> str:
    """The differences by object, for a message."""
    return "\n".join(f"{name}: {one}" for name, found in wrong.items() for one in found)
