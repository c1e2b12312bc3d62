"""The live objects of a cluster by their topmost owners, each checked once, by its owner's template if it has one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from webhook.cluster.objects import POD, Object, Objects
from webhook.cluster.served import Served
from webhook.live.audit.outcome import Outcome, is_mirror
from webhook.live.pods import controlling
from webhook.policy.workloads.kinds import group_of
from webhook.report.model import Subject


class Key(NamedTuple):
    """An object by the name of its kind in the API."""

    namespace: str
    group: str
    kind: str
    name: str


class Audited(NamedTuple):
    """One line of an audit: an object with its outcome in each world, and how many live pods it has.

    `by_pod` names the pod that was checked, one of `pods` with the same outcome, where the object's own template is
    unknown; empty otherwise.
    """

    subject: Subject
    pods: int
    by_pod: str
    outcomes: tuple[Outcome, ...]

    @property
    def where(self) -> str:
        """The place of the object in reports: `team-a/Deployment/llm`."""
        own = f"{self.subject.kind}/{self.subject.name}"
        return f"{self.subject.namespace}/{own}" if self.subject.namespace else own


class Checker(Protocol):
    """Checks live objects in one or more worlds."""

    def outcomes(self, found: Object, group: str, api_version: str, kind: str) -> tuple[Outcome, ...]:
        """Return the outcome for an object in each world."""


class _Group(NamedTuple):
    """Pods of one owner whose template is unknown, and whose outcomes are equal."""

    owner: Key
    outcomes: tuple[Outcome, ...]


class Census:
    """Collects the objects page by page, and keeps only the outcome and the controller of each."""

    def __init__(self, checker: Checker) -> None:
        self._checker = checker
        self._above: dict[Key, Key] = {}
        self._outcomes: dict[Key, tuple[Outcome, ...]] = {}
        self._versions: dict[tuple[str, str], str] = {("", "Pod"): "v1"}
        self._pods: dict[Key, int] = {}
        self._groups: dict[_Group, tuple[str, int]] = {}

    def add(self, found: Object, kind: Served) -> None:
        """Add an object with a template. One that belongs to an object which was added already is not checked."""
        self._versions[kind.group, kind.kind] = kind.api_version
        metadata = found.get("metadata") or {}
        key = Key(metadata.get("namespace", ""), kind.group, kind.kind, metadata.get("name", ""))
        owner = self._controller(metadata)
        if owner is not None:
            is_below = owner in self._outcomes or owner in self._above
            self._above[key] = owner
            if is_below:
                return
        self._outcomes[key] = self._checker.outcomes(found, kind.group, kind.api_version, kind.kind)

    def add_pod(self, found: Object) -> Key:
        """Add a pod, and return its topmost owner. Templates are complete before the first pod."""
        metadata = found.get("metadata") or {}
        own = Key(metadata.get("namespace", ""), "", "Pod", metadata.get("name", ""))
        owner = None if is_mirror(found) else self._controller(metadata)
        top = own if owner is None else self.top(owner)
        if top in self._outcomes:
            self._pods[top] = self._pods.get(top, 0) + 1
            return top
        outcomes = self._checker.outcomes(found, "", "v1", "Pod")
        group = _Group(top, outcomes)
        first, count = self._groups.get(group, (own.name, 0))
        self._groups[group] = first, count + 1
        return top

    def top(self, key: Key) -> Key:
        """The topmost object that controls an object. A circle, which no controller makes, ends where it closes."""
        seen = {key}
        while (owner := self._above.get(key)) is not None and owner not in seen:
            if owner not in self._outcomes and owner not in self._above and key in self._outcomes:
                return key  # the owner is of a kind without a template, or no longer there
            seen.add(owner)
            key = owner
        return key

    def rows(self) -> list[Audited]:
        """The lines in the order of namespaces, kinds and names."""
        rows = [
            Audited(self._subject(key), self._pods.get(key, 0), "", outcomes)
            for key, outcomes in self._outcomes.items()
            if self.top(key) == key
        ]
        for (owner, outcomes), (first, count) in self._groups.items():
            is_bare = owner.kind == "Pod" and owner.name == first
            rows.append(Audited(self._subject(owner), count, "" if is_bare else first, outcomes))
        return sorted(rows, key=lambda row: (row.subject.namespace, row.subject.kind, row.subject.name, row.by_pod))

    def _controller(self, metadata: Mapping[str, object]) -> Key | None:
        owner = controlling(metadata)
        if owner is None:
            return None
        version, kind = owner.get("apiVersion", ""), owner.get("kind", "")
        self._versions.setdefault((group_of(version), kind), version)
        return Key(str(metadata.get("namespace", "")), group_of(version), kind, owner.get("name", ""))

    def _subject(self, key: Key) -> Subject:
        version = self._versions.get((key.group, key.kind), key.group)
        return Subject(version, key.kind, key.namespace, key.name)


async def take(
    objects: Objects,
    checker: Checker,
    kinds: Sequence[Served],
    namespace: str | None,
    query: Mapping[str, str],
    each_pod: Callable[[Object], object] = lambda _pod: None,
) -> Census:
    """Read and check what lives in a namespace, or in all of them for None. `each_pod` gets each pod as well."""
    census = Census(checker)
    for kind in kinds:
        if namespace is not None and not kind.listed.is_namespaced:
            continue
        async for page in objects.pages(kind.listed, namespace, query):
            for one in page:
                census.add(one, kind)
    async for page in objects.pages(POD, namespace, query):
        for one in page:
            census.add_pod(one)
            each_pod(one)
    return census
