"""The evaluator of the command line, which also searches objects for what no path leads to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, islice
from typing import NamedTuple

from webhook.dryrun.search.mentions import (
    ENCODED_BARE,
    GpuNames,
    Mention,
    amounts_read,
    containers_of,
    encoded,
    find_bare,
    find_mentions,
    find_pods,
)
from webhook.dryrun.search.without_pods import RENDERED, active, how_claimed, is_of_kubernetes, why_no_pods
from webhook.manifests.recognition import FRAGMENT
from webhook.policy.checks import CONFIG_CHECKS, LIMIT_CHECKS, LIMITING, NAME_CHECKS, OBJECT_CHECKS
from webhook.policy.checks.gps032_quota import NamespaceLimits
from webhook.policy.context import PodContext, RequestContext
from webhook.policy.evaluate import Evaluator, exemption, inject, run_checks
from webhook.policy.messages import is_one_edit_away, message
from webhook.policy.pods.reading import MalformedError, Members, is_placeholder
from webhook.policy.sharing import objects as sharing
from webhook.policy.sharing.objects import NAMING, VALUES, ConfigNames
from webhook.policy.snapshot import Snapshot
from webhook.policy.verdict import KEPT_PER_CODE, Path, Severity, Verdict, VerdictBuilder, Violation, skipped
from webhook.policy.workloads.kinds import BUILT_IN, MOST_PODS, ExtractedPod, Kind, Kinds, by_name
from webhook.policy.workloads.operators import who_assigns_gpus
from webhook.policy.workloads.paths import MEMBER, Assembly, Form, PathPattern, Whole, repeats, steps, written
from webhook.policy.workloads.presets import PRESETS

_LONGEST = 96
"""Characters of a group or kind that is compared with known ones."""

_BUILT_IN_GROUPS = frozenset((*(group for group, _ in BUILT_IN), "extensions"))
"""The groups of built-in kinds; in `extensions/v1beta1`, workloads lived until Kubernetes 1.16 removed it."""


class Unknown(NamedTuple):
    """Why no path leads to the pods of a kind, as far as the name tells.

    `meant` is the `apiVersion` and kind of which it is probably a typo, `preset` the preset that the settings leave
    out; both are empty where there is none. `is_placeholder`: the kind or its group is a template placeholder.
    """

    meant: str = ""
    preset: str = ""
    is_placeholder: bool = False

    @property
    def cause(self) -> str:
        """The reason in words; empty where the name tells nothing."""
        if self.is_placeholder:
            return "its kind is unknown until the template is rendered"
        if self.preset:
            return f"the settings leave out the preset {self.preset}"
        return f"unknown kind (did you mean {self.meant}?)" if self.meant else ""


class _Known:
    """The kinds that are known without settings, and the presets of those that settings may leave out.

    The indexes are there because a search of all kinds takes longer than all else that is done about an object.
    """

    def __init__(self) -> None:
        self.presets = {(one.group, one.kind): preset.name for preset in reversed(PRESETS) for one in preset.kinds}
        self.kinds = {**BUILT_IN, **by_name(one for preset in PRESETS for one in preset.kinds)}
        self.by_group: dict[str, list[Kind]] = {}
        self.by_name: dict[str, list[Kind]] = {}
        for one in self.kinds.values():
            self.by_group.setdefault(one.group, []).append(one)
            self.by_name.setdefault(one.kind, []).append(one)


_known = cache(_Known)


def unknown(group: str, kind: str, kinds: Kinds) -> Unknown:
    """Why these kinds do not include the kind."""
    if is_placeholder(group) or is_placeholder(kind):
        return Unknown(is_placeholder=True)
    preset = _known().presets.get((group, kind))
    if preset is not None:
        return Unknown(preset=preset)
    meant = next(_meant(group, kind, kinds), None) if len(group) <= _LONGEST and len(kind) <= _LONGEST else None
    if meant is None:
        return Unknown()
    prefix = f"{meant.group}/" if meant.group else ""
    return Unknown(meant=f"{prefix}{meant.versions[0]} {meant.kind}")


def _meant(group: str, kind: str, kinds: Kinds) -> Iterator[Kind]:
    """The kinds of the group with almost this name, then the kinds with this name in a group that this one suggests."""
    known = _known()
    added = [one for key, one in kinds.items() if key not in known.kinds]
    folded = kind.lower()
    for one in (*known.by_group.get(group, ()), *(one for one in added if one.group == group)):
        if is_one_edit_away(folded, one.kind.lower()):
            yield kinds.get((group, one.kind), one)
    is_built_in = group in _BUILT_IN_GROUPS
    # A name of several words, such as `JobSet`, tells the kind: many projects have a `Service` or a `Task`.
    is_telling = sum(map(str.isupper, kind)) > 1
    is_custom = group in known.by_group or any(one.group == group for one in added)
    for one in (*known.by_name.get(kind, ()), *(one for one in added if one.kind == kind)):
        suggests = (one.group, kind) in BUILT_IN if is_built_in else is_custom and is_telling
        if suggests or is_one_edit_away(group, one.group):
            yield kinds.get((one.group, kind), one)


_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}", re.ASCII)
_KIND = re.compile(r"[A-Z][A-Za-z0-9]{0,62}", re.ASCII)
_GROUP = re.compile(r"[a-z0-9.-]{0,253}", re.ASCII)


def entry(group: str, kind: str, path: Path, holds: Whole) -> str | None:
    """The entry in YAML; None if the settings cannot write the group, the kind or the path."""
    if not all(isinstance(step, int) or _KEY.fullmatch(step) for step in path):
        return None
    steps = re.sub(r"\[\d+\]", "[*]", written(path))
    # Settings write no list at the root, and no list of lists.
    is_written = steps and not steps.startswith("[") and "][" not in steps
    if not is_written or not _KIND.fullmatch(kind) or not _GROUP.fullmatch(group):
        return None
    of_group = f"group: {group}, " if group else ""
    what = "" if holds == "template" else f", holds: {holds}"
    return f'{{{of_group}kind: {kind}, path: "{steps}"{what}}}'


_LONGEST_STEP = 63
"""Characters of a key that is compared with a known one."""

_MOST_STEPS = 48
"""Steps of a path that is compared with those of a kind: more than any of them has, by far."""

_TOO_DEEP = 2
"""Levels that an amount may stand too deep, as in `env[0].resources`."""

_FAR = 2
"""Steps that an amount may be away from the place that is meant in a custom kind, which has fields of its own."""

_LEAST_ALIKE = 2
"""Keys that a path and a place have in common at least."""


def _intended(kind: Kind, path: Path) -> tuple[str, str] | None:
    """The place of a kind that is nearest to a path without the name of its resource; None if no place is near.

    With it comes the part of its path that differs.
    A place is near if its path has the same steps and some more or fewer, or a few letters differ.
    """
    if len(path) > _MOST_STEPS:
        return None
    is_built_in = (kind.group, kind.kind) in BUILT_IN
    aligned = [found for place in places(kind) if (found := _aligned(place, path)) is not None]
    near = [(distance, place) for distance, place in aligned if is_built_in or distance <= _FAR]
    if not near:
        return None
    _, nearest = min(near, key=lambda found: found[0])
    return written(nearest), written(_difference(nearest, path))


def places(kind: Kind) -> Iterator[PathPattern]:
    """The steps to all places of a kind where an amount is read: to `limits` and `requests`, or to the amount."""
    for path in kind.paths:
        for below, form in path.holds.requests if isinstance(path.holds, Assembly) else _REQUESTS[path.holds]:
            yield from ((*path.steps, *steps(below), *amount) for amount in _AMOUNTS[form])


_REQUESTS: Mapping[Whole, tuple[tuple[str, Form], ...]] = {
    "template": (("spec.containers[*]", "container"), ("spec.initContainers[*]", "container")),
    "podSpec": (("containers[*]", "container"), ("initContainers[*]", "container")),
    "container": (("", "container"),),
    "resources": (("", "resources"),),
}
"""The paths from the end of a path to all that may ask for resources, each with its form."""

_AMOUNTS: Mapping[Form, tuple[PathPattern, ...]] = {
    "container": (("resources", "limits"), ("resources", "requests")),
    "resources": (("limits",), ("requests",)),
    "step": (("computeResources", "limits"), ("computeResources", "requests")),
    "trainer": (("resourcesPerNode", "limits"), ("resourcesPerNode", "requests")),
    "spark": (("gpu", "quantity"),),
    "gpus": (("gpu",),),
}
"""The steps from a container of each form to its amounts."""


def _aligned(place: PathPattern, path: Path) -> tuple[int, Path] | None:
    """How far a path is from a place of the kind, and that place with the indices of the path; None if it is not near.

    Near means that the steps of the shorter one are some of those of the longer one, in their order.
    """
    if len(path) > len(place) + _TOO_DEEP:
        return None
    is_deeper = len(path) > len(place)
    pairs: list[tuple[int, int]] = []
    start = 0
    for index in range(min(len(place), len(path))):
        for other in range(start, max(len(place), len(path))):
            pair = (index, other) if is_deeper else (other, index)
            if _is_alike(place, pair[0], path[pair[1]]):
                pairs.append(pair)
                start = other + 1
                break
        else:
            return None
    if sum(isinstance(path[index], str) for _, index in pairs) < _LEAST_ALIKE:
        return None
    meant: list[str | int] = list(place)
    misspelt = 0
    for at, index in pairs:
        step = path[index]
        if isinstance(step, int):
            meant[at] = step
        else:
            misspelt += not repeats(place[at]) and place[at] != step
    return abs(len(place) - len(path)) + misspelt, tuple(meant)


def _is_alike(place: PathPattern, at: int, step: str | int) -> bool:
    """Whether a step is the one of a place, in other case or with a typo."""
    known = place[at]
    if repeats(known):
        return known == MEMBER or isinstance(step, int)
    if isinstance(step, int) or len(step) > _LONGEST_STEP:
        return False
    return known == step or is_one_edit_away(known.lower(), step.lower())


def _difference(meant: Path, path: Path) -> Path:
    """The steps in which a place differs from a path, and the steps around them."""
    first = _common(meant, path)
    last = _common(meant[first:][::-1], path[first:][::-1])
    first = max(first - 1, 0)
    while first and (isinstance(meant[first], int) or repeats(meant[first])):
        first -= 1
    return meant[first : len(meant) - last + 1]


def _common(left: Path, right: Path) -> int:
    """The number of steps with which both begin."""
    pairs = zip(left, right, strict=False)
    return next(
        (count for count, (one, other) in enumerate(pairs) if not repeats(one) and one != other),
        min(len(left), len(right)),
    )


class ManifestObject(NamedTuple):
    """An object of a manifest, with its API group and kind."""

    manifest: Members
    group: str
    kind: str


class _SearchedObject(NamedTuple):
    """An object, with all that names an amount of a GPU resource and that the checks of its pods do not read.

    `kind` is its kind, None for one without paths; `unknown` then says why no path leads to its pods. `pods` are those
    that the search found in an object of an unknown kind and that name a GPU resource. `mentions` are the amounts that
    no check of a pod reads.
    """

    held: ManifestObject
    kind: Kind | None
    unknown: Unknown | None
    pods: tuple[ExtractedPod, ...]
    mentions: tuple[Mention, ...]


_RENDER = "render the template, and check the result"


def _unchecked(context: _SearchedObject) -> Iterator[Violation]:
    """One violation per place, and one for a kind that is a placeholder or probably a typo."""
    (_, group, kind), unknown = context.held, context.unknown
    if unknown is not None and (context.pods or context.mentions):
        if unknown.is_placeholder:
            field = "kind" if is_placeholder(kind) else "apiVersion"
            yield Violation((field,), f"{field} is a template placeholder", _RENDER)
        elif unknown.meant:
            problem = message("there is no kind {} in {}; did you mean {}?", kind, group or "v1", unknown.meant)
            yield Violation(("kind",), problem, f"use {unknown.meant}")
    for number, mention in enumerate(context.mentions):
        meant = None
        # A verdict keeps no more findings, so that their number does not multiply the time to compare paths.
        if number < KEPT_PER_CODE and context.kind is not None and not mention.is_text:
            is_key = mention.path[-1] == mention.name
            meant = _intended(context.kind, mention.path[:-1] if is_key else mention.path)
        yield _of_mention(context, mention, meant)


def _of_mention(context: _SearchedObject, mention: Mention, meant: tuple[str, str] | None) -> Violation:
    held, names, remedy = context.held, [mention.name], None
    if mention.is_text:
        problem = "this text names an amount of {}, which cannot be checked"
        remedy = _rendered(held) or "check the manifest that is made of it"
    elif meant is not None:
        place, difference = meant
        problem, remedy = "this amount of {} cannot be checked here; did you mean {}?", f"move it to {place}"
        names.append(difference)
    elif is_placeholder(mention.value):
        problem, remedy = "this amount of {} is a template placeholder", _RENDER
    elif (held.group, held.kind) == FRAGMENT:
        problem = "this amount of {} cannot be checked: it is a part of an object"
    elif (held.group, held.kind) in RENDERED:
        problem = "this amount of {} cannot be checked: other objects are rendered from this one"
    else:
        why = "no path of kind {} leads here" if context.kind is not None else "kind {} is unknown"
        problem = f"this amount of {{}} cannot be checked: {why}"
        names.append(held.kind)
    return Violation(mention.path, message(problem, *names), remedy or _remedy(context, mention))


def _rendered(held: ManifestObject) -> str | None:
    command = RENDERED.get((held.group, held.kind))
    return None if command is None else f"check the output of {command}"


def _remedy(context: _SearchedObject, mention: Mention) -> str:
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


def _why_searched(held: ManifestObject, unknown: Unknown, found: ExtractedPod) -> str:
    """Why the pods of an object had to be searched for, and the setting that makes the first one known."""
    said = "a search found its pods, which the webhook in the cluster does not check"
    if unknown.cause:
        return f"{unknown.cause}: {said}"
    holds = found.place.holds
    added = None if isinstance(holds, Assembly) else entry(held.group, held.kind, found.path, holds)
    return f"unknown kind: {said}" + (f"; add {added} to workloads.paths" if added else "")


def _open_amounts(held: ManifestObject, pods: Sequence[PodContext]) -> str:
    """Why the pods of an object may get GPUs for which they do not ask; empty where nothing is known."""
    chosen = None if any(one.requests.named for one in pods) else who_assigns_gpus(held.group, held.kind)
    if chosen is not None:
        return f"open: it names no GPU resource; {chosen}"
    return _CLAIMS if any(one.pod.spec.get("resourceClaims") for one in pods) else ""


_CLAIMS = "open: its resource claims, which may give it GPUs, are not checked"


def _why_skipped(context: _SearchedObject) -> str:
    """Why nothing of an object is checked."""
    group, kind = context.held.group, context.held.kind
    cause = "" if context.unknown is None else context.unknown.cause
    if context.mentions:
        return "skipped: nothing checks the GPU resource that it names" + (f"; {cause}" if cause else "")
    if (group, kind) in BUILT_IN:
        return "skipped: it holds no pod template"
    if (group, kind) in RENDERED:
        return f"skipped: other objects are rendered from it; check the output of {RENDERED[group, kind]}"
    chosen = who_assigns_gpus(group, kind)
    if chosen is not None:
        return f"skipped: it names no GPU resource; {chosen}"
    if context.unknown is None or (is_of_kubernetes(group) and not cause):
        return "skipped: it requests no GPU resource"
    return f"skipped: {cause or 'unknown kind'}; it names none of the configured resources"


class OfflineEvaluator(Evaluator):
    """An evaluator that also searches an object for pods, and for amounts of GPU resources, that no path leads to."""

    __slots__ = ("_names",)

    def __init__(self, snapshot: Snapshot, kinds: Kinds) -> None:
        super().__init__(snapshot, kinds)
        self._names = GpuNames(snapshot.gpus)

    def evaluate(self, manifest: Members, group: str, kind: str, origin: RequestContext) -> Verdict:
        """The verdict for an object. On the command line, the object is also searched for what no path leads to.

        Raises MalformedError, and TooManyPodsError for more than MOST_PODS pods.
        """
        pods = self.pods(manifest, group, kind)
        if not origin.is_offline:
            return self.verdict(pods, origin)
        held = ManifestObject(manifest, group, kind)
        if (group, kind) == sharing.KIND:  # it applies to nodes, and so in no namespace
            verdict = VerdictBuilder()
            config = sharing.SharingConfig(sharing.of_object(manifest), self.plugin_version())
            run_checks(CONFIG_CHECKS, config, self.snapshot.of(""), verdict)
            return verdict.build()
        if (group, kind) == VALUES:
            return self._of_names(held, "")
        why_not_searched = self.snapshot.of(origin.namespace).exemption
        if why_not_searched is None and (runs_no_pods := how_claimed(*held) or why_no_pods(group, kind)) is not None:
            why_not_searched = f"skipped: {runs_no_pods} and runs no pods"
        if why_not_searched is not None:
            if (group, kind) in LIMITING:
                return self._of_limits(held, origin, why_not_searched)
            if (group, kind) in NAMING:
                return self._of_names(held, why_not_searched)
            return self.verdict(pods, origin) if pods else skipped(why_not_searched)
        known = self.kinds.get((group, kind))
        if known is None:
            return self._of_unknown(held._replace(manifest=active(manifest, group, kind)), origin)
        return self._of_known(held, known, pods, origin)

    def _of_limits(self, held: ManifestObject, origin: RequestContext, why_not_searched: str) -> Verdict:
        """The verdict for an object that limits the pods of a namespace; skipped where it names no GPU resource.

        Raises MalformedError.
        """
        policy, verdict = self.snapshot.of(origin.namespace), VerdictBuilder()
        checks = [check for check in LIMIT_CHECKS if check.code in policy.active]
        if not checks or policy.exemption is not None or self._names.occurrences(encoded(held.manifest)) == 0:
            return skipped(why_not_searched)
        offered = self.snapshot.nodes.index.offered if self.snapshot.nodes.known else ()
        run_checks(checks, NamespaceLimits(held.manifest, held.kind, self.snapshot.gpus, offered), policy, verdict)
        return verdict.build()

    def _of_names(self, held: ManifestObject, why_not_searched: str) -> Verdict:
        """The verdict for an object that may name a configuration of the device plugin.

        Where nothing is wrong, and there is a reason, it is skipped.
        """
        plugin, verdict = self.snapshot.facts.device_plugin, VerdictBuilder()
        known = None if plugin is None or plugin.configs is None else {config.name for config in plugin.configs}
        known = None if known is None else known | self.snapshot.nodes.refused
        run_checks(NAME_CHECKS, ConfigNames(*held, known), self.snapshot.of(""), verdict)
        return verdict.build() if verdict.counts or not why_not_searched else skipped(why_not_searched)

    def _of_known(self, held: ManifestObject, kind: Kind, pods: list[ExtractedPod], origin: RequestContext) -> Verdict:
        """The verdict for an object with these pods, in which a search may find amounts elsewhere."""
        verdict = VerdictBuilder()
        checked = self.check(pods, origin, verdict)
        text = encoded(held.manifest)
        mentions = self._mentions(held.manifest, text, pods, checked)
        if not pods or kind.has_bare_amounts:
            # Also those of other vendors, of which no check asks.
            own = (path for context in checked for one in context.pod.containers for path in one.bare_amounts)
            known = (one.path for one in mentions)
            mentions += _bare(held, text, chain(own, known, _left_alone(pods, checked)))
        verdict.reason = verdict.reason or _open_amounts(held, checked)
        if pods and not mentions:
            return verdict.build()
        context = _SearchedObject(held, kind, None, (), mentions)
        run_checks(OBJECT_CHECKS, _unchecked(context), self.snapshot.of(origin.namespace), verdict)
        return verdict.build() if pods or verdict.counts else skipped(_why_skipped(context))

    def _of_unknown(self, held: ManifestObject, origin: RequestContext) -> Verdict:
        """The verdict for an object of an unknown kind, in which a search may find pods, and amounts elsewhere."""
        verdict = VerdictBuilder()
        pods, checked = self._check_found(held, origin, verdict)
        text = encoded(held.manifest)
        mentions = self._mentions(held.manifest, text, pods, checked)
        mentions += _bare(
            held, text, chain(chain.from_iterable(map(containers_of, pods)), (one.path for one in mentions))
        )
        unknown_kind = unknown(held.group, held.kind, self.kinds)
        naming = tuple(
            [one.extracted for one in checked if one.requests.named or one.requests.positive or one.requests.of_pod]
        )
        context = _SearchedObject(held, None, unknown_kind, naming, mentions)
        run_checks(OBJECT_CHECKS, _unchecked(context), self.snapshot.of(origin.namespace), verdict)
        if naming and not verdict.reason:
            verdict.reason = _why_searched(held, unknown_kind, naming[0])
        return verdict.build() if verdict.counts or verdict.reason else skipped(_why_skipped(context))

    def _check_found(
        self, held: ManifestObject, origin: RequestContext, verdict: VerdictBuilder
    ) -> tuple[list[ExtractedPod], list[PodContext]]:
        """Check mappings that look like pods, with a warning at most. Return the pods, and the checked contexts.

        A mapping without the structure of a pod is left out.
        """
        policy = self.snapshot.of(origin.namespace)
        deferral = Kind(held.group, held.kind, ()).deferral(held.manifest)
        found, checked = [], []
        guesses = () if (held.group, held.kind) == FRAGMENT else islice(find_pods(held.manifest), MOST_PODS)
        for guess in guesses:
            try:
                context = PodContext(guess.extracted(held.manifest, deferral), origin, policy)
                exempt = exemption(context)
                if exempt is None:
                    context = inject(context, VerdictBuilder())
                    self.check_pod(context, verdict, Severity.WARN)
                    checked.append(context)
                else:
                    verdict.reason = exempt
            except MalformedError:
                continue
            found.append(context.extracted)
        return found, checked

    def _mentions(
        self, manifest: Members, text: bytes | None, pods: list[ExtractedPod], checked: list[PodContext]
    ) -> tuple[Mention, ...]:
        """The amounts of an object that no check of its pods reads. Exempt pods are left alone."""
        names = self._names
        read = {path for context in checked for path in amounts_read(context.requests)}
        if names.occurrences(text) == len(read):
            return ()  # as for most objects, for which the search takes too long
        containers = chain.from_iterable(containers_of(context.extracted) for context in checked)
        return tuple(find_mentions(manifest, names, read | _left_alone(pods, checked), containers))


def _left_alone(pods: Iterable[ExtractedPod], checked: Iterable[PodContext]) -> set[Path]:
    """The paths to the pods that are not checked, because they are exempt."""
    return {extracted.path for extracted in pods}.difference(context.extracted.path for context in checked)


def _bare(held: ManifestObject, text: bytes | None, left_out: Iterable[Path]) -> tuple[Mention, ...]:
    """The amounts below bare names outside the parts that are left out, from the object and its encoding."""
    # What the fields of Kubernetes' own kinds mean is known; for a source of manifests, a chart or an overlay says it.
    if (held.group, held.kind) in RENDERED or is_of_kubernetes(held.group):
        return ()
    if text is not None and not any(name in text for name in ENCODED_BARE):
        return ()
    return tuple(find_bare(held.manifest, left_out))
