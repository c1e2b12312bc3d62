"""An object names a GPU resource in a place that cannot be checked.

Reads: all of an object whose kind is not built in, as far as no path of its kind leads there; amounts below or beside
the name of a GPU resource, and text such as `nvidia.com/gpu: 2`.

Why: the webhook and this command know where the built-in kinds and those of the presets keep their pods. In other
places, an amount may be more than a node offers, and nothing reports it. The command line searches such objects for
pods and checks what it finds, with a warning at most; it cannot check an amount in text, in a field of unknown meaning,
or behind a placeholder of a template.

Remedy: where the place is a pod template, a pod spec, a container or its resources, add it to `workloads.paths`, and
the webhook checks it too. If a preset of the settings would know the kind, add it to `workloads.presets`. Correct the
kind if it is a typo. Render a template, and check the result.
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.policy.checks.check import Check, Scope
from webhook.policy.object_context import ManifestObject, ObjectContext
from webhook.policy.pods.placeholders import is_placeholder
from webhook.policy.verdict import Severity, Violation
from webhook.policy.wording import message
from webhook.policy.workloads.search import Mention
from webhook.policy.workloads.suggestion import entry
from webhook.policy.workloads.unknown import Unknown
from webhook.policy.workloads.without_pods import RENDERED

_RENDER = "render the template, and check the result"


def run(context: ObjectContext) -> Iterator[Violation]:
    """One violation per place, and one for a kind that is a placeholder or probably a typo."""
    if context.unknown is not None and (context.pods or context.mentions):
        yield from _of_kind(context.held, context.unknown)
    for mention in context.mentions:
        yield _of_mention(context, mention)


def _of_kind(held: ManifestObject, unknown: Unknown) -> Iterator[Violation]:
    if unknown.is_placeholder:
        field = "kind" if is_placeholder(held.kind) else "apiVersion"
        yield Violation((field,), f"{field} is a template placeholder", _RENDER)
    elif unknown.meant:
        group = held.group or "v1"
        problem = message("there is no kind {} in {}; did you mean {}?", held.kind, group, unknown.meant)
        yield Violation(("kind",), problem, f"use {unknown.meant}")


def _of_mention(context: ObjectContext, mention: Mention) -> Violation:
    if mention.is_text:
        problem = message("this text names an amount of {}, which cannot be checked", mention.name)
        return Violation(mention.path, problem, _rendered(context.held) or "check the manifest that is made of it")
    if is_placeholder(mention.value):
        return Violation(mention.path, message("this amount of {} is a template placeholder", mention.name), _RENDER)
    why = "no path of kind {} leads here" if context.unknown is None else "kind {} is unknown"
    problem = message(f"this amount of {{}} cannot be checked: {why}", mention.name, context.held.kind)
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
    added = mention.resources and entry(held.group, held.kind, mention.resources, "resources")
    return f"add {added} to workloads.paths" if added else "check the pods that its controller makes of it"


CHECK = Check(
    "GPS023",
    Severity.WARN,
    Scope.OFFLINE,
    run,
    __doc__,
    settings=("workloads.presets", "workloads.paths", "resources"),
)
