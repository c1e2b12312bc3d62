"""An object names a GPU resource in a place that cannot be checked.

Reads: all of an object, as far as the checks of its pods do not read it. It finds amounts below or beside the name of
a GPU resource, and text such as `nvidia.com/gpu: 2`. In containers it finds amounts below a name only, as text there is
what a program gets.

Why: the webhook and this command know where the built-in kinds and those of the presets keep their pods. An amount in
another place may be more than a node offers, and nothing reports it; an amount in a misspelt field is none for the
cluster, so that the pod gets no GPU. In kinds that it does not know, the command line searches for pods and checks what
it finds, with a warning at most; it cannot check an amount in text, in a field of unknown meaning, or behind a
placeholder of a template.

Exceptions: labels, annotations, selectors, taints and tolerations name no amounts, and `status` is what a controller
wrote. `schedulingPolicy` and `batchSchedulerOptions` sum up what pods ask for elsewhere, and `ignoreDifferences`
compares. Kinds such as ResourceQuota, Node and ResourceClaim, which name amounts and run no pods, are not searched. Of
a policy of Kyverno, what it mutates and generates is searched, and not what it validates.

Remedy: move the amount to the place that the message names. In a custom kind, where the place is a pod template, a pod
spec, a container or its resources, add it to `workloads.paths`, and the webhook checks it too. If a preset of the
settings would know the kind, add it to `workloads.presets`. Correct the kind if it is a typo. Render a template, and
check the result.
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.policy.checks.check import Check, Scope
from webhook.policy.context import ManifestObject, ObjectContext
from webhook.policy.pods.placeholders import is_placeholder
from webhook.policy.verdict import KEPT_PER_CODE, Severity, Violation
from webhook.policy.wording import message
from webhook.policy.workloads.intended import Intended, intended, places
from webhook.policy.workloads.kinds import BUILT_IN
from webhook.policy.workloads.mentions import Mention
from webhook.policy.workloads.paths import written
from webhook.policy.workloads.suggestion import entry
from webhook.policy.workloads.unknown import Unknown
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
    "GPS023",
    Severity.WARN,
    Scope.OFFLINE,
    run,
    __doc__,
    settings=("workloads.presets", "workloads.paths", "resources"),
)
