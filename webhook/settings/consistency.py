"""What must agree with each other within one section, or within one list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from webhook.policy.settings.injections import Toleration
from webhook.policy.settings.settings import NamespaceRule, WorkloadPath
from webhook.policy.workloads.kinds import BUILT_IN, EVERY, PodPath, steps
from webhook.settings.process import Server, Tls


class Misfit(NamedTuple):
    """Where, below the section or list, and what is wrong there. `{}` stands for the name of the value at `other`."""

    path: tuple[str | int, ...]
    message: str
    other: tuple[str | int, ...] | None = None


def misfits(held: Any) -> Iterator[Misfit]:
    """What does not agree within one section."""
    match held:
        case Toleration(operator="Exists", value=str()):
            yield Misfit(("value",), 'only goes with the operator "Equal"; "Exists" tolerates every value')
        case NamespaceRule(names=(), selector=None):
            yield Misfit((), 'a rule needs "names" or a "selector", otherwise it matches no namespace')
        case Server(port=port, health_port=health_port) if port == health_port != 0:
            yield Misfit(("healthPort",), f"must differ from {{}}, which is {port} too; choose another port", ("port",))
        case WorkloadPath():
            yield from _built_in(held)
        case Tls():
            yield from _certificates(held)


def _certificates(held: Tls) -> Iterator[Misfit]:
    if held.client_subjects and held.client_ca is None:
        yield Misfit(("clientSubjects",), "needs clientCA: without it no client certificate is asked for")
    if held.leaf_lifetime > held.ca_lifetime / 2:
        yield Misfit(("leafLifetime",), "must be at most half of caLifetime, or leaves would outlive their authority")
    if held.settle > held.leaf_lifetime / 3:
        yield Misfit(("settle",), "must be at most a third of leafLifetime, or leaves would end while none may sign")


def _built_in(held: WorkloadPath) -> Iterator[Misfit]:
    """A path to pods that are checked without it: each finding would be reported twice."""
    own = _pods(PodPath(steps(held.path), held.holds))
    if any(_meet(own, _pods(path)) for path in BUILT_IN.get((held.group, held.kind), ())):
        yield Misfit(("path",), f"the pods of {held.kind} are checked already; leave the entry out")


def repeated(held: Sequence[Any]) -> Iterator[Misfit]:
    """Elements of a list that say again what an earlier one says."""
    seen: set[str] = set()
    paths: dict[tuple[str, str], list[tuple[int, tuple[str, ...]]]] = {}
    for index, one in enumerate(held):
        if isinstance(one, WorkloadPath):
            yield from _again(index, one, paths.setdefault((one.group, one.kind), []))
            continue
        name = getattr(one, "name", None)
        if name in seen:
            yield Misfit((index, "name"), f'"{name}" is there already')
        if name is not None:
            seen.add(name)


def _again(index: int, one: WorkloadPath, earlier: list[tuple[int, tuple[str, ...]]]) -> Iterator[Misfit]:
    own = _pods(PodPath(steps(one.path), one.holds))
    same = next((other for other, pods in earlier if _meet(own, pods)), None)
    if same is not None:
        yield Misfit((index, "path"), "leads to the same pods as {}; leave one of them out", (same, "path"))
    earlier.append((index, own))


def _pods(path: PodPath) -> tuple[str, ...]:
    """The steps to the pod specs or containers of a path: a template holds its pod spec in `spec`."""
    return (*path.steps, "spec") if path.holds == "template" else path.steps


def _meet(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two paths can lead to the same node, or one to the containers of the other's pods.

    Both may have steps to every element.
    """
    deeper = max(one, other, key=len)[min(len(one), len(other)) :]
    return deeper in _WITHIN and all(
        step == others or EVERY in (step, others) for step, others in zip(one, other, strict=False)
    )


_WITHIN = ((), ("containers", EVERY), ("initContainers", EVERY))
"""Where the containers of a pod spec lie, and the pod spec itself."""
