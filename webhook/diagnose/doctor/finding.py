"""A check of `doctor`, which yields findings, and the words that many findings have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from webhook.cluster.installations import Installation
from webhook.cluster.stack import Program
from webhook.cluster.trusted import Part, Trust
from webhook.diagnose.finding import Advice, Finding, Remedy, Severity, filled, qualified, reference
from webhook.policy.messages import Command
from webhook.report.lines import first

MOST: Final = 5
"""Lines of evidence about one object."""


class Check(NamedTuple):
    """A check of a cluster. `title` names its subject, and `needs` the parts that it cannot run without.

    `run` gets what was read: a `Seen`, or a `Stack` alone if the check is one of the chain of a node.
    """

    title: str
    needs: tuple[Part, ...]
    run: Callable[[Any], Iterator[Finding]]


Key = TypeVar("Key")
Member = TypeVar("Member")


def grouped(found: Iterable[tuple[Key, Member]]) -> dict[Key, list[Member]]:
    """What has the same key, in the order in which it was found: a finding is about all of it."""
    groups: dict[Key, list[Member]] = {}
    for key, member in found:
        groups.setdefault(key, []).append(member)
    return groups


def about(
    one: Program | Installation, finding: str, severity: Severity, cause: str, remedy: Advice, *evidence: str
) -> Finding:
    """A finding about a DaemonSet, or about an installation of the webhook."""
    return Finding(finding, severity, str(one), cause, evidence, remedy, (one.namespace,))


def unready(
    one: Program | Installation, finding: str, severity: Severity, cause: str, remedy: Advice, details: Sequence[str]
) -> Finding:
    """A finding about pods that are not ready, perhaps since an image cannot be pulled, by what the kubelet says."""
    if any(": ErrImage" in each or ": ImagePull" in each for each in details):
        cause += ": the kubelet cannot pull an image"
        remedy = Remedy("correct the image in the values of its chart, or set imagePullSecrets there; look at ", remedy)
    return about(one, finding, severity, cause, remedy, *details[:MOST])


def about_nodes(
    names: Sequence[str],
    finding: str,
    severity: Severity,
    cause: str,
    remedy: Advice,
    *evidence: str,
    of: Program | None = None,
) -> Finding:
    """A finding about nodes. `of` is the DaemonSet that shows it; None if the nodes do."""
    namespaces = () if of is None else (of.namespace,)
    return Finding(finding, severity, several(names), cause, (*evidence, f"nodes: {first(names)}"), remedy, namespaces)


def naming(space: str, name: str) -> Command:
    """The command that names the DaemonSet of the device plugin."""
    return Command("kubectl", "gpushare", "doctor", "--device-plugin-daemonset", qualified("daemonset", space, name))


def of_nodes(trust: Trust, one: Program, remedy: Advice) -> Advice:
    """A remedy that changes nodes as a DaemonSet wants it; how to confirm one that a tenant may have written."""
    if one.namespace in trust.administered:
        return remedy
    return Remedy("if you installed the DaemonSet, name it: ", naming(one.namespace, one.name))


def advice(template: str, one: Program | Installation | None = None, **names: Any) -> Remedy:
    """Fill a template (`remedy.filled`). {object} is the DaemonSet, or the Deployment, and {namespace} is its own."""
    if one is not None:
        kind = "DaemonSet" if isinstance(one, Program) else "Deployment"
        names = {"namespace": one.namespace, "object": [reference(kind, one.name)], **names}
    return filled(template, names.__getitem__)


def several(names: Sequence[str]) -> str:
    """The first of some names, and how many others there are: the subject of a finding about all of them."""
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
