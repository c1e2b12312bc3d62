"""What must agree with each other within one section, or within one list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from webhook.policy.injection_settings import Toleration
from webhook.policy.settings import NamespaceRule
from webhook.settings.process import Server, Tls

Misfit: TypeAlias = tuple[tuple[str | int, ...], str]
"""Where, below the section or list, and what is wrong there."""


def misfits(held: Any) -> Iterator[Misfit]:
    """What does not agree within one section."""
    match held:
        case Toleration(operator="Exists", value=str()):
            yield ("value",), 'only goes with the operator "Equal"; "Exists" tolerates every value'
        case NamespaceRule(names=(), selector=None):
            yield (), 'a rule needs "names" or a "selector", otherwise it matches no namespace'
        case Server(port=port, health_port=health_port) if port == health_port != 0:
            yield ("healthPort",), f"must differ from port, which is {port} too"
        case Tls():
            yield from _certificates(held)


def _certificates(held: Tls) -> Iterator[Misfit]:
    if held.client_subjects and held.client_ca is None:
        yield ("clientSubjects",), "needs clientCA: without it no client certificate is asked for"
    if held.leaf_lifetime > held.ca_lifetime / 2:
        yield ("leafLifetime",), "must be at most half of caLifetime, or leaves would outlive their authority"
    if held.settle > held.leaf_lifetime / 3:
        yield ("settle",), "must be at most a third of leafLifetime, or leaves would end while nobody may sign"


def repeated(held: Sequence[Any]) -> Iterator[Misfit]:
    """Elements of a list that have the name of an earlier one."""
    seen: set[str] = set()
    for index, one in enumerate(held):
        name = getattr(one, "name", None)
        if name in seen:
            yield (index, "name"), f'"{name}" is there already'
        if name is not None:
            seen.add(name)
