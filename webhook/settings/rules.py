"""Rules between the values of one section, and between the elements of one list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from webhook.policy.settings.elements import NamespaceRule, WorkloadPath
from webhook.policy.settings.settings import Settings, Toleration
from webhook.policy.verdict import Path
from webhook.policy.workloads.kinds import BUILT_IN
from webhook.policy.workloads.paths import PodPath, steps
from webhook.settings.configuration import Configuration
from webhook.settings.process import ServerSettings, Tls


class Problem(NamedTuple):
    """A problem at a path, with KEY at its end for a wrong key; `{}` in `message` stands for the name of `other`."""

    path: Path
    message: str
    other: Path | None = None


def conflicts(held: Any) -> Iterator[Problem]:
    """Contradictions within one section, at paths below it."""
    match held:
        case Toleration(operator="Exists", value=str()):
            yield Problem(("value",), 'needs the operator "Equal"; "Exists" tolerates every value')
        case NamespaceRule(names=(), selector=None):
            yield Problem((), 'a rule needs "names" or a "selector", otherwise it matches no namespace')
        case Configuration(settings=settings):
            yield from _across_sections(settings)
        case ServerSettings(port=port, health_port=health_port) if port == health_port != 0:
            yield Problem(
                ("healthPort",), f"must differ from {{}}, which is {port} too; choose another port", ("port",)
            )
        case WorkloadPath():
            yield from _built_in(held)
        case Tls():
            yield from _certificates(held)


def _across_sections(held: Settings) -> Iterator[Problem]:
    if held.sharing.namespaces is not None and not held.facts.namespaces:
        text = "needs {}: true, or the webhook would not know which namespaces have these labels"
        yield Problem(("sharing", "namespaces"), text, ("facts", "namespaces"))
    if held.message_suffix is not None and not held.message_suffix.isprintable():
        yield Problem(
            ("messageSuffix",), "has a character that cannot be printed, such as a change of direction; remove it"
        )


def _certificates(held: Tls) -> Iterator[Problem]:
    if held.client_subjects and held.client_ca is None:
        yield Problem(("clientSubjects",), "needs clientCA: without it the server requests no client certificate")
    if held.leaf_lifetime > held.ca_lifetime / 2:
        yield Problem(("leafLifetime",), "must be at most half of caLifetime, or leaves would outlive the authority")
    if held.settle > held.leaf_lifetime / 3:
        yield Problem(
            ("settle",),
            "must be at most a third of leafLifetime, or leaves would expire while no authority may sign",
        )


def _built_in(held: WorkloadPath) -> Iterator[Problem]:
    """A path to pods that a built-in kind covers: each finding would be reported twice."""
    own, built_in = _pods(held), BUILT_IN.get((held.group, held.kind))
    if built_in is not None and any(own.meets(path) for path in built_in.paths):
        yield Problem(("path",), f"the pods of {held.kind} are checked without this entry; remove it")


def repeated(held: Sequence[Any]) -> Iterator[Problem]:
    """Elements of a list that repeat an earlier one, at paths below the list."""
    seen: set[str] = set()
    paths: dict[tuple[str, str], list[tuple[int, WorkloadPath]]] = {}
    for index, one in enumerate(held):
        if isinstance(one, WorkloadPath):
            yield from _again(index, one, paths.setdefault((one.group, one.kind), []))
            continue
        name = getattr(one, "name", None)
        if name in seen:
            yield Problem((index, "name"), f'"{name}" is in the list already; remove one')
        if name is not None:
            seen.add(name)


def _again(index: int, one: WorkloadPath, earlier: list[tuple[int, WorkloadPath]]) -> Iterator[Problem]:
    """What contradicts the earlier paths of the same kind, or repeats one."""
    own = _pods(one)
    same = next((other for other, path in earlier if own.meets(_pods(path))), None)
    if same is not None:
        yield Problem((index, "path"), "leads to the same pods as {}; remove one of them", (same, "path"))
    for field in ("resource", "versions", "scope"):
        value = getattr(one, field)
        given = next(((other, getattr(path, field)) for other, path in earlier if getattr(path, field)), None)
        if value and given is not None and value != given[1]:
            yield Problem((index, field), "must equal {}, because both are of one kind", (given[0], field))
    earlier.append((index, one))


def _pods(path: WorkloadPath) -> PodPath:
    return PodPath(steps(path.path), path.holds)
