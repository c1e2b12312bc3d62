"""The live objects of a cluster by their topmost owners, each checked once, by its owner's template if it has one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from webhook.cluster.objects import POD, Object, Objects, all_of
from webhook.cluster.reading import controlling, number
from webhook.cluster.served import Served
from webhook.diagnose.audit.outcome import Auditor, Outcome, is_mirror
from webhook.policy.pods.reading import MalformedError
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


_MADE_BY: Final[Mapping[tuple[str, str], frozenset[tuple[str, str]]]] = {
    ("", "Pod"): frozenset(
        {
            ("", "ReplicationController"),
            ("apps", "ReplicaSet"),
            ("apps", "StatefulSet"),
            ("apps", "DaemonSet"),
            ("batch", "Job"),
        }
    ),
    ("apps", "ReplicaSet"): frozenset({("apps", "Deployment")}),
    ("batch", "Job"): frozenset({("batch", "CronJob")}),
}
"""The kinds of Kubernetes that make objects of a kind. An author may name any other owner, which makes nothing."""

_OF_NODES: Final = ("cni.projectcalico.org/", "k8s.v1.cni.cncf.io/", "k8s.ovn.org/")
"""Prefixes of annotations with which networks describe each pod alone."""

_TOKEN_VOLUME: Final = re.compile(rb"kube-api-access-[a-z0-9]{5}")
"""The name of a volume that is another one in each pod (kubernetes plugin/pkg/admission/serviceaccount)."""

_Amounts: TypeAlias = frozenset[tuple[tuple[str, str], ...]]
"""The extended resources that the containers of a pod ask for, for each pod of an object."""


class Census:
    """Collects the objects page by page, and keeps only the outcome and the controller of each.

    An object counts in the line of its owner if the kind of the owner makes such objects, both ask for the same GPUs,
    and the owner's line has all findings of the object. The API server, other webhooks and controllers may change
    anything else. So an author who names an owner hides nothing.
    """

    def __init__(self, auditor: Auditor) -> None:
        self._auditor = auditor
        self._above: dict[Key, Key] = {}
        self._outcomes: dict[Key, tuple[Outcome, ...]] = {}
        self._amounts: dict[Key, _Amounts | None] = {}
        self._versions: dict[tuple[str, str], str] = {("", "Pod"): "v1"}
        self._pods: dict[Key, int] = {}
        self._groups: dict[tuple[Key, tuple[Outcome, ...]], tuple[str, int]] = {}
        self._known: dict[tuple[Key, int], tuple[Outcome, ...] | None] = {}

    def add(self, found: Object, kind: Served) -> None:
        """Add an object with a template. One that its owner's line covers has none of its own."""
        self._versions[kind.group, kind.kind] = kind.api_version
        metadata = found.get("metadata") or {}
        key = Key(metadata.get("namespace", ""), kind.group, kind.kind, metadata.get("name", ""))
        owner = self._maker(key, metadata)
        is_replica_set = (kind.group, kind.kind) == ("apps", "ReplicaSet")
        replicas = number(found, "spec", "replicas", default=1), number(found, "status", "replicas")
        if owner in self._amounts and is_replica_set and not any(replicas):
            return  # the revisions that a Deployment keeps for a rollback
        amounts = self._amounts_of(found, key)
        outcomes = self._differing(found, kind.api_version, key, owner, amounts)
        self._amounts[key] = amounts
        if outcomes is None and owner is not None:
            self._above[key] = owner
        elif outcomes is not None:
            self._outcomes[key] = outcomes

    def add_pod(self, found: Object) -> None:
        """Add a pod. Templates are complete before the first pod."""
        metadata = found.get("metadata") or {}
        own = Key(metadata.get("namespace", ""), "", "Pod", metadata.get("name", ""))
        owner = None if is_mirror(found) else self._maker(own, metadata)
        if owner is None:
            outcomes = self._auditor.outcomes(found, "", "v1", "Pod")
        else:
            equal = owner, _digest(found, metadata)
            if equal not in self._known:
                amounts = self._amounts_of(found, own)
                self._known[equal] = self._differing(found, "v1", own, owner, amounts)
            differing = self._known[equal]
            owner = self._top(owner)
            if differing is None:
                self._pods[owner] = self._pods.get(owner, 0) + 1
                return
            outcomes = differing
        group = owner or own, outcomes
        first, count = self._groups.get(group, (own.name, 0))
        self._groups[group] = first, count + 1

    def _maker(self, key: Key, metadata: Mapping[str, object]) -> Key | None:
        """The owner that may have made an object: of a kind that makes such objects, or of a custom kind."""
        owner = controlling(metadata)
        if owner is None:
            return None
        version, kind = owner.get("apiVersion", ""), owner.get("kind", "")
        group = group_of(version)
        if (group, kind) not in _MADE_BY.get((key.group, key.kind), ()) and (group in _GROUPS):
            return None
        self._versions.setdefault((group, kind), version)
        return Key(key.namespace, group, kind, owner.get("name", ""))

    def _top(self, key: Key) -> Key:
        """The object in whose line an object counts. An owner is added before what it owns, so there is no circle."""
        while key in self._above:
            key = self._above[key]
        return key

    def _amounts_of(self, found: Object, key: Key) -> _Amounts | None:
        """The amounts of the pods of an object; None if these are malformed, or too many."""
        try:
            pods = self._auditor.evaluator.pods(found, key.group, key.kind)
            # A request that is not named equals the limit.
            asked = ([{**each.requests, **each.limits} for each in one.pod.containers] for one in pods)
            return frozenset(
                tuple(sorted((name, str(units)) for each in one for name, units in each.items() if "/" in name))
                for one in asked
            )
        except MalformedError:
            return None

    def _differing(
        self, found: Object, api_version: str, key: Key, owner: Key | None, amounts: _Amounts | None
    ) -> tuple[Outcome, ...] | None:
        """The outcomes of an object that its owner's line does not cover; None if that line does."""
        of_owner = None if owner is None else self._amounts.get(owner)
        is_equal = amounts is not None and of_owner is not None and amounts <= of_owner
        if is_equal and not any(amounts or ()) and not _concerns_gpus(found):
            return None
        outcomes = self._auditor.outcomes(found, key.group, api_version, key.kind)
        if not is_equal or owner is None:
            return outcomes
        line = self._outcomes.get(self._top(owner), ())
        return None if all(map(_covers, line, outcomes)) and len(line) == len(outcomes) else outcomes

    def rows(self) -> list[Audited]:
        """The lines in the order of namespaces, kinds and names."""
        rows = [
            Audited(self._subject(key), self._pods.get(key, 0), "", outcomes)
            for key, outcomes in self._outcomes.items()
        ]
        for (owner, outcomes), (first, count) in self._groups.items():
            is_bare = owner.kind == "Pod" and owner.name == first
            rows.append(Audited(self._subject(owner), count, "" if is_bare else first, outcomes))
        return sorted(rows, key=lambda row: (row.subject.namespace, row.subject.kind, row.subject.name, row.by_pod))

    def _subject(self, key: Key) -> Subject:
        version = self._versions.get((key.group, key.kind), key.group)
        return Subject(version, key.kind, key.namespace, key.name)


_GROUPS: Final = frozenset({"", "apps", "batch"})
"""The API groups whose kinds with pods are those of Kubernetes."""


def _concerns_gpus(found: Object) -> bool:
    """Whether the text of an object names GPUs. A check of a pod without extended resources fires on nothing else."""
    metadata = found.get("metadata") or {}
    parts = [found.get("spec"), found.get("template"), found.get("inference"), metadata.get("annotations")]
    text = msgspec.json.encode(parts).lower()
    return any(word in text for word in (b"nvidia", b"gpu", b"cuda"))


def _digest(pod: Object, metadata: Mapping[str, Any]) -> int:
    """A number that is equal for pods of one template: those that differ only in what each pod has for itself."""
    spec = {key: value for key, value in (pod.get("spec") or {}).items() if key not in ("nodeName", "hostname")}
    annotations = metadata.get("annotations") or {}
    kept = {key: value for key, value in annotations.items() if not key.startswith(_OF_NODES)}
    return hash(_TOKEN_VOLUME.sub(b"", msgspec.json.encode([spec, kept, metadata.get("labels")])))


def _covers(line: Outcome, outcome: Outcome) -> bool:
    """Whether a line says all that another outcome would say: its decision or a stricter one, and its findings."""
    if outcome.problem:
        return line.problem == outcome.problem
    if outcome.reason and not line.findings and line.reason != outcome.reason:
        return False
    said, said_by_line = ({(each.code, each.severity) for each in one.findings} for one in (outcome, line))
    return outcome.decision <= line.decision and said <= said_by_line


async def take(
    objects: Objects,
    auditor: Auditor,
    kinds: Sequence[Served],
    namespace: str | None,
    query: Mapping[str, str],
    each_pod: Callable[[Object], object] = lambda _pod: None,
) -> Census:
    """Read and check what lives in a namespace, or in all of them for None. `each_pod` gets each pod as well."""
    census = Census(auditor)
    for kind in kinds:
        if namespace is not None and not kind.listed.is_namespaced:
            continue
        async for one in all_of(objects, kind.listed, namespace, **query):
            census.add(one, kind)
    async for one in all_of(objects, POD, namespace, **query):
        census.add_pod(one)
        each_pod(one)
    return census
