"""A `gpushare-webhook/` annotation is malformed, or asks for memory that no node gives."""

from __future__ import annotations

from collections.abc import Callable

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext, unknown_codes
from webhook.policy.mark import INJECTED
from webhook.policy.messages import message
from webhook.policy.placement.memory import ANNOTATION, MOST_TERMS, MemoryObstacle, MemorySize, mebibytes_of, written
from webhook.policy.pods.client_limits import ANNOTATIONS, PREFIX
from webhook.policy.verdict import Path, Replacement, Severity, Violation

_KNOWN: dict[str, Callable[[str], object]] = {one.key: one.write for one in ANNOTATIONS} | {ANNOTATION: mebibytes_of}
_ONE_OF_THEM = f"use one of {', '.join(sorted(_KNOWN))}"


def run(context: PodContext) -> Violations:
    """One violation per annotation that is wrong."""
    annotations, suppressing = context.pod.annotations, context.rules.suppressing_annotation
    if not annotations:
        return ()
    return (
        violation
        for key, value in annotations.items()
        if (key.startswith(PREFIX) or key == suppressing) and (violation := _violation(context, key, value)) is not None
    )


def _violation(context: PodContext, key: str, value: object) -> Violation | None:
    path = (*context.pod.metadata_path, "annotations", key)
    if key == context.rules.suppressing_annotation:
        unknown = unknown_codes(value, context.rules.severities)
        if not unknown:
            return None
        # The annotation suppresses less than its author intends.
        problem = message("annotation {} names {}, which is not a check", key, unknown[0])
        return Violation(path, problem, "list the codes of checks, such as GPS001,GPS009", Severity.WARN)
    known = _KNOWN.get(key)
    if known is None:
        if key in (INJECTED, (context.rules.settings.exempt.annotation or "").partition("=")[0]):
            return None
        problem = message("annotation {} is not a gpushare-webhook annotation", key)
        return Violation(path, problem, _ONE_OF_THEM, Severity.WARN)
    if key == ANNOTATION and not any(one.kind == "shared" for one in context.rules.settings.resources):
        problem = message("annotation {} has no effect: the settings name no shared resource", key)
        return Violation(path, problem, "omit it", Severity.WARN)
    if key == ANNOTATION and not context.rules.injections.memory.enabled:
        off = "memory" if not context.rules.settings.injections.memory.enabled else "mode"
        problem = message(f"annotation {{}} has no effect: injections.{off} is off", key)
        return Violation(path, problem, "omit it, or ask the administrator to turn the injection on", Severity.WARN)
    try:
        known(value if isinstance(value, str) else "")
    except ValueError as wanted:
        problem = message("annotation {} cannot be {}", key, value)
        return Violation(path, problem, f"use {wanted}, in quotes", fix=_quoted(known, path, value))
    return _memory(context.memory_size, path) if key == ANNOTATION else None


def _quoted(known: Callable[[str], object], path: Path, value: object) -> tuple[Replacement, ...]:
    """The fix for a number that would be right as text: an annotation holds text."""
    if isinstance(value, bool) or not isinstance(value, int):
        return ()
    try:
        known(str(value))
    except ValueError:
        return ()
    return (Replacement(path, str(value)),)


def _memory(size: MemorySize | None, path: Path) -> Violation | None:
    if size is None:
        problem = message("annotation {} has no effect: the pod requests no shared resource", ANNOTATION)
        return Violation(path, problem, "omit it, or request a shared resource", Severity.WARN)
    obstacle = size.obstacle
    if obstacle is None:
        return None
    asked, largest = written(size.mebibytes), written(size.largest)
    if obstacle is MemoryObstacle.NODES_UNKNOWN and size.largest:
        known = f"the largest known share of {{}} is {largest}"
        problem = message(f"the pod asks for {asked} per replica; {known}", size.resource)
        return Violation(path, problem, f"ask for at most {largest}, or share cards among fewer pods", Severity.WARN)
    if not obstacle.rejects:
        problem = message(f"annotation {{}} cannot place the pod: {obstacle.value}", ANNOTATION)
        return Violation(path, problem, _KNOWLEDGE[obstacle], Severity.WARN)
    if obstacle is MemoryObstacle.TOO_LARGE_AFFINITY:
        too_many = f"more than {MOST_TERMS} terms, or copies of long ones"
        problem = message(f"the node affinity for {{}} would have {too_many}", ANNOTATION)
        return Violation(path, problem, "use fewer or shorter terms in the required node affinity")
    where, larger = _TOO_SMALL[obstacle]
    problem = message(f"the pod asks for {asked} per replica; {where} is {largest}", size.resource)
    return Violation(path, problem, f"ask for at most {largest}, or {larger}")


_TOO_SMALL = {
    MemoryObstacle.TOO_SMALL: ("the largest share of {}", "ask the administrator for larger shares"),
    MemoryObstacle.TOO_SMALL_SELECTED: (
        "the largest share of {} on nodes that it selects",
        "remove the selectors that exclude larger shares",
    ),
    MemoryObstacle.TOO_SMALL_BOUND: ("the share of {} on its node", "omit nodeName"),
}
"""The place of the largest share, and the remedy that leads to a larger one."""

_KNOWLEDGE = {
    MemoryObstacle.NODES_UNKNOWN: "ask the administrator to turn facts.nodes on; on the command line, pass --facts",
    MemoryObstacle.NOT_OFFERED: "ask the administrator for such nodes, or for placement.nodeGroups that declare them",
    MemoryObstacle.TOO_MANY_KINDS: "require labels of nodes with enough memory by node affinity",
    MemoryObstacle.SHARE_UNKNOWN: "ask the administrator for the labels of GPU feature discovery on the nodes",
}


CHECK = Check(
    "GPS018",
    Severity.DENY,
    Scope.ANY,
    run,
    "A `gpushare-webhook/` annotation is malformed, or asks for memory that no node gives",
)
