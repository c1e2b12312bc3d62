"""Rules between the values of one section, and between the elements of one list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from webhook.policy.settings.elements import NamespaceRule, WorkloadPath
from webhook.policy.settings.settings import Toleration
from webhook.policy.verdict import Path
from webhook.policy.workloads.kinds import BUILT_IN
from webhook.policy.workloads.paths import PodPath
from webhook.settings.configuration import Configuration
from webhook.settings.process import ServerSettings, Tls


class Problem(NamedTuple):
    """A problem at a path, with KEY at its end for a wrong key; `{}` in `message` stands for the name of `other`."""

    path: Path
    message: str
    other: Path | None = None


def conflicts(section: Any) -> Iterator[Problem]:
    """Contradictions within one section, at paths below it."""
    match section:
        case Toleration(operator="Exists", value=str()):
            yield Problem(("value",), 'needs the operator "Equal"; "Exists" tolerates every value')
        case NamespaceRule(names=(), selector=None):
            yield Problem((), 'a rule needs "names" or a "selector", otherwise it matches no namespace')
        case Configuration(settings=settings):
            if settings.sharing.namespaces is not None and not settings.facts.namespaces:
                text = "needs {}: true, or the webhook would not know which namespaces have these labels"
                yield Problem(("sharing", "namespaces"), text, ("facts", "namespaces"))
            if settings.message_suffix is not None and not settings.message_suffix.isprintable():
                text = "has a character that cannot be printed, such as a change of direction; remove it"
                yield Problem(("messageSuffix",), text)
        case ServerSettings(port=port, health_port=health_port) if port == health_port != 0:
            yield Problem(
                ("healthPort",), f"must differ from {{}}, which is {port} too; choose another port", ("port",)
            )
        case WorkloadPath(group=group, kind=kind) if built_in := BUILT_IN.get((group, kind)):
            own = _pods(section)
            if any(own.meets(path) for path in built_in.paths):  # each finding would be reported twice
                yield Problem(("path",), f"the pods of {kind} are checked without this entry; remove it")
        case Tls():
            yield from _certificates(section)


def _certificates(tls: Tls) -> Iterator[Problem]:
    if tls.client_subjects and tls.client_ca is None:
        yield Problem(("clientSubjects",), "needs clientCA: without it the server requests no client certificate")
    if tls.leaf_lifetime > tls.ca_lifetime / 2:
        yield Problem(("leafLifetime",), "must be at most half of caLifetime, or leaves would outlive the authority")
    if tls.settle > tls.leaf_lifetime / 3:
        text = "must be at most a third of leafLifetime, or leaves would expire while no authority may sign"
        yield Problem(("settle",), text)


def repeated(elements: Sequence[Any]) -> Iterator[Problem]:
    """Elements of a list that repeat an earlier one, at paths below the list."""
    seen: set[str] = set()
    paths: dict[tuple[str, str], list[tuple[int, WorkloadPath]]] = {}
    for index, element in enumerate(elements):
        if isinstance(element, WorkloadPath):
            yield from _again(index, element, paths.setdefault((element.group, element.kind), []))
            continue
        name = getattr(element, "name", None)
        if name in seen:
            yield Problem((index, "name"), f'"{name}" is in the list already; remove one')
        if name is not None:
            seen.add(name)


def _again(index: int, element: WorkloadPath, earlier: list[tuple[int, WorkloadPath]]) -> Iterator[Problem]:
    """What contradicts the earlier paths of the same kind, or repeats one."""
    own = _pods(element)
    same = next((other for other, path in earlier if own.meets(_pods(path))), None)
    if same is not None:
        yield Problem((index, "path"), "leads to the same pods as {}; remove one of them", (same, "path"))
    for field in ("resource", "versions", "scope"):
        value = getattr(element, field)
        given = next(((other, getattr(path, field)) for other, path in earlier if getattr(path, field)), None)
        if value and given is not None and value != given[1]:
            yield Problem((index, field), "must equal {}, because both are of one kind", (given[0], field))
    earlier.append((index, element))


def _pods(path: WorkloadPath) -> PodPath:
    return PodPath(path.path, path.holds)
