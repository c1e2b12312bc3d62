"""What a check is, and what the modules of checks share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from webhook.policy.context import PodContext
from webhook.policy.pods.pod import Container
from webhook.policy.pods.reading import text
from webhook.policy.verdict import Message, Path, Severity, Violations, message


class Scope(Enum):
    """The pods or objects that a check runs on. The reference prints the value after "applies to"."""

    MPS = "pods that request a shared resource and could land on an MPS node"
    SHOWN_MPS = "pods that request a shared resource and could land on an MPS node, where something shows MPS"
    SHARED = "pods that request a shared resource"
    GPU = "pods that request a GPU"
    NAMES_GPU = "pods that name a GPU resource"
    ANY = "every pod"
    EPHEMERAL = "every pod, and ephemeral containers when they are added to it"
    EXPECTS_EDITS = "pods that reach `/validate` on CREATE"
    OFFLINE = "every object, on the command line"
    SHARING_CONFIG = "configurations of the device plugin, on the command line and in ConfigMaps that the chart guards"
    CONFIG_NAMES = "Nodes, ClusterPolicies and values of charts, on the command line"
    NAMESPACE_LIMITS = "ResourceQuotas and LimitRanges, on the command line"

    def includes(self, context: PodContext) -> bool:
        """Whether a check of pods that has this scope runs on a pod."""
        if context.origin.added_containers is not None:
            return self is Scope.EPHEMERAL
        if self is Scope.MPS:
            return bool(context.mps_requests)
        if self is Scope.SHOWN_MPS:  # the command line counts what it leaves out elsewhere
            return bool(context.mps_requests) and (context.origin.is_offline or context.shows_mps)
        if self in (Scope.GPU, Scope.SHARED):
            return bool(context.requests.positive)
        if self is Scope.NAMES_GPU:
            return bool(context.requests.named or context.requests.of_pod)
        return context.expects_edits if self is Scope.EXPECTS_EDITS else True


Context = TypeVar("Context")
"""The input of a check: the context of a pod, or of an object."""


@dataclass(frozen=True, slots=True, eq=False)
class Check(Generic[Context]):
    """A code, a default severity, a scope, and the function that returns the violations of a pod or an object.

    `title` says in a line what the check reports; the page beside the module explains it to users.

    Each check exists once, so checks are compared by identity; methods for more would slow down the start of `check`.
    """

    code: str
    severity: Severity
    scope: Scope
    run: Callable[[Context], Violations]
    title: str


def about(container: Container, template: str, *names: object) -> Message:
    """A message about a container: its kind and name, followed by a template that `names` fill."""
    return message(f"{container.kind} {{}} {template}", container.label, *names)


def variable(container: Container, name: str) -> tuple[Path, str | None]:
    """The path and the text of a variable that a container sets; None as the text of a value by reference.

    The path is empty if the container does not set the variable. Raises MalformedError.
    """
    entry = container.variable(name)
    if entry is None:
        return (), None
    value = text(entry, "value", container.variable_path(name, ""))
    is_reference = entry.get("valueFrom") is not None
    return container.variable_path(name, "valueFrom" if is_reference else "value"), None if is_reference else value
