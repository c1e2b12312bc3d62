"""Which nodes a pod's selectors and tolerations allow.

Yes or no for known labels, maybe for a class of nodes described by domains.

A node selector and the required node affinity become terms: any term suffices, all expressions of a term must hold
(kubernetes/kubernetes component-helpers scheduling/corev1/nodeaffinity). An empty term matches nothing.

An `Expression` is written in a pod, or added to it; an entry of the node selector counts as one. A `Constraint` sums up
the expressions of one term about one label, and a `Requirement` everything that a pod requires of its node.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, islice
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from webhook.policy.pods.pod import Pod
from webhook.policy.pods.reading import Members, elements, members, text, texts
from webhook.policy.settings.settings import Toleration
from webhook.policy.verdict import Path

if TYPE_CHECKING:
    from webhook.policy.placement.cluster_objects import Taint


FIELD = "field:"
"""Prefix of the key of a node's field among the keys of labels. No label can have such a key."""

NAME_FIELD = FIELD + "metadata.name"
AFFINITY = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
TERMS = "nodeSelectorTerms"


class Constraint:
    """The values that a label may have: those that the expressions of one term allow, or that a class of nodes has.

    `values`: just these. `excluded`: any text except these. `above`, `below`: whole numbers between the two. `suffix`:
    text with this ending. `but_suffix`: text without this ending. `absent`: the label may be missing. `present`: it may
    be there.
    """

    __slots__ = ("above", "absent", "below", "but_suffix", "excluded", "present", "suffix", "values")

    def __init__(
        self,
        values: Iterable[str] | None = None,
        excluded: Iterable[str] = (),
        above: float = -inf,
        suffix: str = "",
        but_suffix: str = "",
        *,
        absent: bool = True,
    ) -> None:
        self.values = None if values is None else set(values)
        self.excluded = set(excluded)
        self.above = above
        self.below = inf
        self.suffix = suffix
        self.but_suffix = but_suffix
        self.absent = absent
        self.present = True

    def add(self, operator: str, values: Sequence[str]) -> None:
        """Require an expression of an affinity term too. An unknown operator, or a text for a number, adds nothing."""
        number = integer(values[0]) if len(values) == 1 else None
        match operator:
            case "In":
                self.values = set(values) if self.values is None else self.values.intersection(values)
                self.absent = False
            case "NotIn":
                self.excluded.update(values)
            case "Exists":
                self.absent = False
            case "DoesNotExist":
                self.present = False
            case "Gt" if number is not None:
                self.above = max(self.above, number)
                self.absent = False
            case "Lt" if number is not None:
                self.below = min(self.below, number)
                self.absent = False

    def holds(self, value: str | None) -> bool:
        """Whether the label may have this value, or be missing where there is none."""
        if value is None:
            return self.absent
        if not self.present or (self.values is not None and value not in self.values) or value in self.excluded:
            return False
        if not value.endswith(self.suffix) or (self.but_suffix and value.endswith(self.but_suffix)):
            return False
        if self.above == -inf and self.below == inf:
            return True
        number = integer(value)
        return number is not None and self.above < number < self.below

    def agrees_with(self, other: Constraint) -> bool:
        """Whether some value, or the lack of the label, satisfies both."""
        if self.absent and other.absent:
            return True
        candidates = self.values if self.values is not None else other.values
        if candidates is not None:
            return any(self.holds(value) and other.holds(value) for value in candidates)
        if not (self.present and other.present):
            return False
        low, high = max(self.above, other.above), min(self.below, other.below)
        if low == -inf and high == inf:
            return True  # infinitely many texts, finitely many of them excluded
        if self.suffix or other.suffix:
            return False
        excluded = {number for value in self.excluded | other.excluded if (number := integer(value)) is not None}
        return high - low - 1 > sum(low < number < high for number in excluded)


FREE = Constraint()
"""Nothing is known about the label."""


def integer(value: str) -> int | None:
    """The value as the scheduler's ParseInt reads it: 64 bits, leading zeros and one sign allowed."""
    digits = value[1:] if value[:1] in ("+", "-") else value
    if not digits.isascii() or not digits.isdigit():
        return None
    digits = digits.lstrip("0") or "0"
    if len(digits) > _LONGEST:
        return None
    number = -int(digits) if value[0] == "-" else int(digits)
    return number if -(2**63) <= number < 2**63 else None


_LONGEST = 19
"""Digits of the largest number of 64 bits."""

Term = Mapping[str, Constraint]


class Requirement(NamedTuple):
    """Everything that a pod requires of its node's labels and name.

    `selector` is the node selector. Of `terms`, which hold the node selector's values for the labels they name, one
    must be met; None stands for a pod without required affinity, empty for a pod that no node can satisfy. With
    `is_partial` the pod requires more than this: its affinity exceeds what is analysed.
    """

    selector: Mapping[str, str]
    terms: Sequence[Term] | None
    is_partial: bool = False

    def satisfiable(self, labels: Term) -> bool:
        """Whether some node of a class could satisfy it. Labels that the class does not describe are free."""
        for key, constraint in labels.items():
            value = self.selector.get(key)
            if value is not None and not constraint.holds(value):
                return False
        if self.terms is None:
            return True
        return any(
            all(constraint.agrees_with(labels.get(key, FREE)) for key, constraint in term.items())
            for term in self.terms
        )


ANALYSED = 16_384
"""The most terms, expressions and values that are analysed; no author writes as many.

Beyond that the affinity counts as unknown. Unknown counts as "could land", and known nodes prove nothing against it.
A pod with gates may get a warning where the whole affinity would deny it; its release is checked in full.
"""


def requirement(pod: Pod, added: Mapping[str, str] | None = None) -> Requirement | None:
    """The requirement of the pod, or None when it requires nothing of its node. Raises MalformedError.

    `added` is a node selector that the pod gets beside its own.
    """
    if pod.spec.get("nodeSelector") is None and pod.spec.get("affinity") is None:
        return Requirement(added, None) if added else None
    selector, required = node_selector(pod), required_terms(pod)
    selector = {**added, **selector} if added else selector
    if required is None:
        return Requirement(selector, None) if selector else None
    path, left = terms_path(pod), ANALYSED
    terms: list[Term] = []
    for index, raw in enumerate(required):
        term: dict[str, Constraint] = {}
        for key, operator, values, _ in expressions(raw, (*path, index)):
            left -= 1 + len(values)
            if left < 0:
                return Requirement(selector, None, is_partial=True)
            if key not in term:
                term[key] = Constraint((selector[key],), absent=False) if key in selector else Constraint()
            term[key].add(operator, values)
        if term:  # an empty term matches nothing
            terms.append(term)
    return Requirement(selector, terms)


def node_selector(pod: Pod) -> Mapping[str, str]:
    """The node selector; a null value counts as empty text. Raises MalformedError."""
    selector, path = pod.members("nodeSelector"), pod.path_of("nodeSelector")
    return {key: text(selector, key, path) for key in selector}


def required_terms(pod: Pod) -> list[Members] | None:
    """The terms of the pod's required node affinity, or None without one. Raises MalformedError."""
    node: Any = pod.members(AFFINITY[0])
    if not node:
        return None
    path = pod.path_of(AFFINITY[0])
    for field in AFFINITY[1:]:
        node = members(node, field, path)
        if not node:
            return None
        path = (*path, field)
    return elements(node, TERMS, path)


def terms_path(pod: Pod) -> Path:
    """The path to the terms of the pod's required node affinity."""
    return (*pod.path_of(AFFINITY[0]), *AFFINITY[1:], TERMS)


def expressions(term: Members, path: Path) -> Iterator[Expression]:
    """The expressions of the term at a path. Raises MalformedError."""
    for field, prefix in (("matchExpressions", ""), ("matchFields", FIELD)):
        if term.get(field) is None:
            continue
        for index, raw in enumerate(elements(term, field, path)):
            place = (*path, field, index)
            key, operator = prefix + text(raw, "key", place), text(raw, "operator", place)
            yield Expression(key, operator, texts(raw, "values", place), place)


_SELECTOR = "nodeSelector"
_SHOWN_VALUES = 3


class Expression(NamedTuple):
    """An expression about one label or field of the node. `key` starts with FIELD for a field.

    `path` leads to it in the pod, to the entry of the node selector where that is its source; it is empty for an
    expression that the webhook adds.
    """

    key: str
    operator: str
    values: Sequence[str] = ()
    path: Path = ()

    @property
    def is_selector(self) -> bool:
        """Whether it is an entry of the node selector."""
        return self.path[-2] == _SELECTOR

    @property
    def name(self) -> str:
        return self.key.removeprefix(FIELD)

    @property
    def constraint(self) -> Constraint:
        constraint = Constraint()
        constraint.add(self.operator, self.values)
        return constraint

    def raw(self) -> Members:
        """The expression in the form of the pod's spec."""
        raw: Members = {"key": self.key, "operator": self.operator}
        return {**raw, "values": list(self.values)} if self.values else raw

    def __str__(self) -> str:
        """As `key=value` or `key operator [values]`, with the first few values."""
        if self.is_selector:
            return f"{self.name}={self.values[0]}"
        shown = ", ".join((*self.values[:_SHOWN_VALUES], *["…"] * (len(self.values) > _SHOWN_VALUES)))
        return f"{self.name} {self.operator} [{shown}]" if shown else f"{self.name} {self.operator}"


Alternative: TypeAlias = Sequence[Expression]
"""Expressions that must all hold."""

MOST_LISTED_TERMS = 8
MOST_LISTED = 64
"""Terms, and expressions of one term with those of the node selector, that are listed. No author reads more."""


def alternatives(pod: Pod, added: Mapping[str, str] | None = None) -> list[Alternative] | None:
    """The expressions of the node selector with those of each term that is not empty: a node must meet one list.

    `added` is a node selector that the pod gets beside its own. None if there are more than are listed. Raises
    MalformedError.
    """
    path = pod.path_of(_SELECTOR)
    selector = {**(added or {}), **node_selector(pod)}
    if len(selector) > MOST_LISTED:
        return None
    common = [Expression(key, "In", (value,), (*path, key)) for key, value in selector.items()]
    terms = required_terms(pod)
    if terms is None:
        return [common]
    path = terms_path(pod)
    if len(terms) > MOST_LISTED_TERMS:
        return None
    listed: list[Alternative] = []
    for index, term in enumerate(terms):
        own = list(islice(expressions(term, (*path, index)), MOST_LISTED + 1))
        if len(common) + len(own) > MOST_LISTED:
            return None
        if own:
            listed.append([*common, *own])
    return listed


_NONE: Set[str] = frozenset()


def as_raw(toleration: Toleration) -> dict[str, str]:
    """The toleration in the form of a pod's spec, without redundant members."""
    raw = {"key": toleration.key, "operator": toleration.operator}
    if toleration.operator == "Equal" and toleration.value:
        raw["value"] = toleration.value
    if toleration.effect is not None:
        raw["effect"] = toleration.effect
    return raw


class Tolerations:
    """Tolerations indexed by key, value and effect, so that a taint takes one lookup however many there are.

    Only those whose key is among `keys`, or that name no key, are kept: the keys of taints that matter. The rules are
    those of k8s.io/component-helpers scheduling/corev1 ToleratesTaint. The operators Gt and Lt compare numbers; the
    configured tolerations never do, so such a toleration covers none of them.
    """

    __slots__ = ("_every", "_keys", "_permanent", "_values")

    def __init__(self, keys: Container[str]) -> None:
        self._keys = keys
        self._permanent: set[tuple[str, str | None, str]] = set()
        self._every: set[tuple[str, str]] = set()
        self._values: dict[tuple[str, str], set[str]] = {}

    def add(self, tolerations: Iterable[Members], path: Path) -> None:
        """Add the tolerations of a list at a path. Raises MalformedError."""
        for index, raw in enumerate(tolerations):
            key = raw.get("key")
            if key and isinstance(key, str) and key not in self._keys:
                continue
            place = (*path, index)
            key, operator = text(raw, "key", place), text(raw, "operator", place) or "Equal"
            if not key and operator != "Exists":
                continue
            value, effect = text(raw, "value", place) if operator == "Equal" else None, text(raw, "effect", place)
            # Gt and Lt are taken as met: unknown must not count as "cannot land". They cover none of the configured.
            if value is None:
                self._every.add((key, effect))
            else:
                self._values.setdefault((key, effect), set()).add(value)
            if raw.get("tolerationSeconds") is None and operator in ("Exists", "Equal"):
                self._permanent.add((key, value, effect))

    def tolerate(self, taint: Taint) -> bool:
        """Whether one of them admits a pod to a node with this taint."""
        return self.tolerate_every(taint.key, taint.effect) or any(
            taint.value in self._values.get((taint.key, effect), _NONE) for effect in ("", taint.effect)
        )

    def tolerate_every(self, key: str, effect: str) -> bool:
        """Whether one of them tolerates all values of a taint with this key and effect."""
        every = self._every
        return bool(every) and any(
            (any_key, any_effect) in every for any_key in ("", key) for any_effect in ("", effect)
        )

    def values(self, key: str, effect: str) -> Set[str]:
        """The values of taints with this key and effect that single ones of them tolerate."""
        return self._values.get((key, ""), _NONE) | self._values.get((key, effect), _NONE)

    def keys(self, effect: str) -> Set[str]:
        """The keys of taints with this effect that they name."""
        return {key for key, own in chain(self._every, self._values) if own in ("", effect)}

    def cover(self, other: Mapping[str, Any]) -> bool:
        """Whether one of them permanently tolerates every taint that this toleration does."""
        if not self._permanent:
            return False
        keys: list[tuple[str, str | None]] = [("", None), (other["key"], None)]
        if other["operator"] == "Equal":
            keys.append((other["key"], other.get("value") or ""))
        effects = {"", other.get("effect") or ""}
        return any((key, value, effect) in self._permanent for key, value in keys for effect in effects)


def tolerations_of(pod: Pod, keys: Container[str]) -> Tolerations:
    """The tolerations of a pod. Raises MalformedError."""
    tolerations = Tolerations(keys)
    listed = pod.elements("tolerations")
    if listed:
        tolerations.add(listed, pod.path_of("tolerations"))
    return tolerations


_PREFIXES = (
    "node.kubernetes.io/",  # https://kubernetes.io/docs/reference/labels-annotations-taints/
    "node.cloudprovider.kubernetes.io/",
    "node.cluster.x-k8s.io/",  # kubernetes-sigs/cluster-api api/core/v1beta2
    "cluster-autoscaler.kubernetes.io/",
    "ignore-taint.cluster-autoscaler.kubernetes.io/",  # kubernetes/autoscaler utils/taints/taints.go
    "startup-taint.cluster-autoscaler.kubernetes.io/",
    "status-taint.cluster-autoscaler.kubernetes.io/",
    "karpenter.sh/",  # kubernetes-sigs/karpenter pkg/apis/v1/taints.go
    "karpenter.azure.com/",
    "karpenter.k8s.aws/",
    "aws-node-termination-handler/",
    "cloud.google.com/impending-node-termination",
    "remediation.medik8s.io/",
    "medik8s.io/",
)
_KEYS = frozenset({"ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler"})


def is_lifecycle(key: str) -> bool:
    """Whether a taint's key shows a passing state of the node.

    Kubernetes, cloud providers and autoscalers set such taints. No pod should tolerate them for its GPU, and they are
    no evidence that a pod can never run on the node. Agents of nodes remove `agent-not-ready` once they run
    (kubernetes/kops#15464, kubernetes-sigs/aws-ebs-csi-driver#1949).
    """
    name = key.rpartition("/")[2]
    return key.startswith(_PREFIXES) or key in _KEYS or name == "agent-not-ready" or "maintenance" in name.lower()
