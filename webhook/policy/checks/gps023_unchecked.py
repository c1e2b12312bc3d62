"""An object names a GPU resource in a place that cannot be checked."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.policy.checks.check import Check, Scope
from webhook.policy.context import ManifestObject, ObjectContext
from webhook.policy.messages import message
from webhook.policy.pods.reading import is_placeholder
from webhook.policy.verdict import KEPT_PER_CODE, Severity, Violation
from webhook.policy.workloads.kinds import BUILT_IN
from webhook.policy.workloads.paths import written
from webhook.policy.workloads.search import Mention
from webhook.policy.workloads.unknown import Intended, Unknown, entry, intended, places
from webhook.policy.workloads.without_pods import FRAGMENT, RENDERED

_RENDER = "render the template, and check the result"


def run(context: ObjectContext) -> Iterator[Violation]:
    """One violation per place, and one for a kind that is a placeholder or probably a typo."""
    if context.unknown is not None and (context.pods or context.mentions):
        yield from _of_kind(context.held, context.unknown)
    for number, mention in enumerate(context.mentions):
        # A verdict keeps no more findings, so that their number does not multiply the time to compare paths.
        meant = _intended(context, mention) if number < KEPT_PER_CODE else None
        yield _of_mention(context, mention, meant)


def _intended(context: ObjectContext, mention: Mention) -> Intended | None:
    """The place of a known kind that an amount is probably meant for."""
    if context.kind is None or mention.is_text:
        return None
    is_key = mention.path[-1] == mention.name
    return intended(context.kind, mention.path[:-1] if is_key else mention.path)


def _of_kind(held: ManifestObject, unknown: Unknown) -> Iterator[Violation]:
    if unknown.is_placeholder:
        field = "kind" if is_placeholder(held.kind) else "apiVersion"
        yield Violation((field,), f"{field} is a template placeholder", _RENDER)
    elif unknown.meant:
        group = held.group or "v1"
        problem = message("there is no kind {} in {}; did you mean {}?", held.kind, group, unknown.meant)
        yield Violation(("kind",), problem, f"use {unknown.meant}")


def _of_mention(context: ObjectContext, mention: Mention, meant: Intended | None) -> Violation:
    held, name = context.held, mention.name
    if mention.is_text:
        problem = message("this text names an amount of {}, which cannot be checked", name)
        return Violation(mention.path, problem, _rendered(held) or "check the manifest that is made of it")
    if meant is not None:
        problem = message("this amount of {} cannot be checked here; did you mean {}?", name, meant.difference)
        return Violation(mention.path, problem, f"move it to {meant.place}")
    if is_placeholder(mention.value):
        return Violation(mention.path, message("this amount of {} is a template placeholder", name), _RENDER)
    if (held.group, held.kind) == FRAGMENT:
        problem = message("this amount of {} cannot be checked: it is a part of an object", name)
        return Violation(mention.path, problem, _remedy(context, mention))
    if (held.group, held.kind) in RENDERED:
        problem = message("this amount of {} cannot be checked: other objects are rendered from this one", name)
        return Violation(mention.path, problem, _remedy(context, mention))
    why = "no path of kind {} leads here" if context.kind is not None else "kind {} is unknown"
    problem = message(f"this amount of {{}} cannot be checked: {why}", name, held.kind)
    return Violation(mention.path, problem, _remedy(context, mention))


def _rendered(held: ManifestObject) -> str | None:
    command = RENDERED.get((held.group, held.kind))
    return None if command is None else f"check the output of {command}"


def _remedy(context: ObjectContext, mention: Mention) -> str:
    unknown, held = context.unknown, context.held
    rendered = _rendered(held)
    if rendered is not None:
        return rendered
    if unknown is not None and unknown.preset:
        return f"add {unknown.preset} to workloads.presets"
    if unknown is not None and unknown.meant:
        return f"use {unknown.meant}"
    if (held.group, held.kind) in BUILT_IN and context.kind is not None:
        return f"move it to {written(next(places(context.kind)))}"
    added = mention.resources and entry(held.group, held.kind, mention.resources, "resources")
    return f"add {added} to workloads.paths" if added else "check the pods that its controller makes of it"


CHECK = Check(
    "GPS023", Severity.WARN, Scope.OFFLINE, run, "An object names a GPU resource in a place that cannot be checked"
)
