"""The evaluator of the command line, which also searches objects for what no path leads to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple, get_args

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
from webhook.dryrun.search.programs import PROGRAM_VALUES, program_of
from webhook.dryrun.search.without_pods import RENDERED, active, is_of_kubernetes, why_no_pods
from webhook.manifests.recognition import FRAGMENT
from webhook.policy.checks import CONFIG_CHECKS, LIMIT_CHECKS, LIMITING, NAME_CHECKS, OBJECT_CHECKS
from webhook.policy.checks.gps032_quota import NamespaceLimits
from webhook.policy.context import PodContext, RequestContext
from webhook.policy.evaluate import Evaluator, exemption, inject, run_checks
from webhook.policy.messages import is_one_edit_away
from webhook.policy.pods.quantity import NANO, parse_or_zero
from webhook.policy.pods.reading import MalformedError, Members, is_placeholder
from webhook.policy.sharing import objects as sharing
from webhook.policy.sharing.objects import NAMING, VALUES, ConfigNames
from webhook.policy.snapshot import Snapshot
from webhook.policy.verdict import KEPT_PER_CODE, Path, Severity, Verdict, VerdictBuilder, Violation, message, skipped
from webhook.policy.workloads.kinds import BUILT_IN, MOST_PODS, Deferral, ExtractedPod, Kind, Kinds, group_of
from webhook.policy.workloads.paths import EVERY, REPEATED, Assembly, Form, PathPattern, PodPath, Whole, steps, written
from webhook.policy.workloads.presets import ASSIGNED, PRESETS

_LONGEST = 96
"""Characters of a group or kind that is compared with known ones."""

_BUILT_IN_GROUPS = frozenset((*(group for group, _ in BUILT_IN), "extensions"))
"""The groups of built-in kinds; in `extensions/v1beta1`, workloads lived until Kubernetes 1.16 removed it."""


class Unknown(NamedTuple):
    """Why no path leads to the pods of a kind, as far as the name tells.

    `meant` is the `apiVersion` and kind of which it is probably a typo; `cause` is the reason in words, and `remedy`
    what to do. All are empty where there is none. `is_placeholder`: the kind or its group is a template placeholder.
    """

    meant: str = ""
    cause: str = ""
    remedy: str = ""
    is_placeholder: bool = False


_OF_PRESETS = {(one.group, one.kind): preset.name for preset in reversed(PRESETS) for one in preset.kinds}
"""The presets by the group and kind of what they describe; settings may leave out some."""


def by_folded_name(kinds: Kinds) -> dict[str, Kind]:
    """The kinds by their groups and names in small letters."""
    return {f"{group}/{kind}".lower(): one for (group, kind), one in kinds.items()}


_OTHER_VERSION = "this version of its kind is unknown"


def has_known_version(manifest: Members, kind: Kind) -> bool:
    """Whether an object has a version of its kind whose paths are known, or none at all.

    An older one may keep its pods elsewhere, as MPIJob did in kubeflow.org/v1alpha1.
    """
    version = manifest.get("apiVersion")
    return not isinstance(version, str) or version.rpartition("/")[2] in kind.versions


def unknown(group: str, kind: str, by_name: Mapping[str, Kind]) -> Unknown:
    """Why the kinds with these folded names do not include the kind, or a version of it."""
    if is_placeholder(group) or is_placeholder(kind):
        return Unknown(cause="its kind is unknown until the template is rendered", is_placeholder=True)
    preset = _OF_PRESETS.get((group, kind))
    namesake = by_name.get(f"{group}/{kind}".lower())
    if namesake is not None and (namesake.group, namesake.kind) == (group, kind):
        return Unknown(cause=_OTHER_VERSION)
    if preset is not None:
        cause = f"the settings leave out the preset {preset}"
        return Unknown(cause=cause, remedy=f"add {preset} to workloads.presets")
    meant = _meant(group, kind, by_name) if len(group) <= _LONGEST and len(kind) <= _LONGEST else None
    if meant is None:
        return Unknown()
    prefix = f"{meant.group}/" if meant.group else ""
    name = f"{prefix}{meant.versions[0]} {meant.kind}"
    return Unknown(name, f"unknown kind (did you mean {name}?)", f"use {name}")


def _meant(group: str, kind: str, by_name: Mapping[str, Kind]) -> Kind | None:
    """The kind of which a name is one edit away, or the built-in kind that stands in another built-in group."""
    if group in _BUILT_IN_GROUPS and (moved := [one for one in BUILT_IN.values() if one.kind == kind]):
        return moved[0]
    name = f"{group}/{kind}".lower()
    alike = ((known, one) for known, one in by_name.items() if abs(len(known) - len(name)) <= 1)
    return next((one for known, one in alike if is_one_edit_away(name, known)), None)


_LONGEST_KEY = 63
"""Characters of a key of a path."""


def entry(group: str, kind: str, path: Path, holds: Whole, below: PathPattern = ()) -> str | None:
    """The entry in YAML; None if the settings cannot write the group, the kind or the path.

    `below` are the steps below the path, to pods of an object there.
    """
    from webhook.policy.settings.formats import ApiGroup, KindName, TemplatePath  # few objects need an entry

    pattern = (*(EVERY if isinstance(step, int) else step for step in path), *below)
    text = written(pattern)
    values = ((ApiGroup, group), (KindName, kind), (TemplatePath, text))
    keys = (step for step in path if isinstance(step, str))
    is_odd = any(key in REPEATED or len(key) > _LONGEST_KEY for key in keys) or steps(text) != pattern
    if is_odd or not all(get_args(form)[1].allows(value) for form, value in values):
        return None
    of_group = f"group: {group}, " if group else ""
    what = "" if holds == "template" else f", holds: {holds}"
    return f'{{{of_group}kind: {kind}, path: "{text}"{what}}}'


_LONGEST_PATH = 256
"""Characters of a path that is compared with the places of a kind: more than any of them has, by far."""

_ALIKE = 0.7
"""How much of a path and a place are the same, at least, where the place is meant."""


def _intended(kind: Kind, path: Path) -> str | None:
    """The place of a kind that is most like a path without the name of its resource; None if no place is."""
    text = written(path)
    if len(text) > _LONGEST_PATH:
        return None
    from difflib import get_close_matches  # few amounts are in a wrong place

    indices = re.findall(r"\[\d+\]", text)
    alike = get_close_matches(re.sub(r"\[\d+\]", "[*]", text), map(written, places(kind)), 1, _ALIKE)
    if alike and alike[0].count("[*]") <= len(indices):
        return re.sub(r"\[\*\]", lambda _: indices.pop(0), alike[0])
    return alike[0] if alike else None


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
}
"""The steps from a container of each form to its amounts."""


class ManifestObject(NamedTuple):
    """An object of a manifest, with its API group and kind. `level` counts the objects around it."""

    manifest: Members
    group: str
    kind: str
    level: int = 0

    @property
    def is_of_values(self) -> bool:
        """Whether it holds values of a chart, or what is rendered from them, which a program may read."""
        return bool(self.rendered_by) or (self.group, self.kind) in _OF_VALUES

    @property
    def rendered_by(self) -> str | None:
        """The command that renders the manifests of which the object is the source; None for another object."""
        return RENDERED.get((self.group, self.kind))


_OF_VALUES = (PROGRAM_VALUES, ("", "ConfigMap"), ("", "Secret"))

_RENDER = "render the template, and check the result"


def _unchecked(
    held: ManifestObject, known: Kind | Unknown, mentions: Sequence[Mention], *, has_found_pods: bool = False
) -> Iterator[Violation]:
    """One violation per amount that no check of a pod reads, and one for a kind that is a placeholder or a typo.

    `has_found_pods`: a search found pods that name a GPU resource in an object of an unknown kind.
    """
    if isinstance(known, Unknown) and (has_found_pods or mentions):
        yield from _about_kind(held, known)
    for number, mention in enumerate(mentions):
        if held.is_of_values and (program := program_of(mention)) is not None:
            yield _of_program(program, mention)
            continue
        names, intended = [mention.name], None
        remedy = f"check the output of {held.rendered_by}" if held.rendered_by else _remedy(held, known, mention)
        # A verdict keeps no more findings, so that their number does not multiply the time to compare paths.
        if number < KEPT_PER_CODE and isinstance(known, Kind) and not mention.is_text:
            is_key = mention.path[-1] == mention.name
            intended = _intended(known, mention.path[:-1] if is_key else mention.path)
        if mention.is_text:
            problem = "this text names an amount of {}, which cannot be checked"
        elif intended is not None:
            problem, remedy = "this amount of {} cannot be checked here; did you mean {}?", f"move it to {intended}"
            names.append(intended)
        elif mention.value == mention.name:
            problem = "users choose the amount of {}, which cannot be checked here"
        elif is_placeholder(mention.value):
            problem = "this amount of {} is a template placeholder"
        elif (held.group, held.kind) == FRAGMENT:
            problem = "this amount of {} cannot be checked: it is a part of an object"
        elif held.rendered_by:
            problem = "this amount of {} cannot be checked: other objects are rendered from this one"
        else:
            is_known = isinstance(known, Kind) or known.cause == _OTHER_VERSION
            why = "no path of kind {} leads here" if is_known else "kind {} is unknown"
            problem = f"this amount of {{}} cannot be checked: {why}"
            names.append(held.kind)
        yield Violation(mention.path, message(problem, *names), remedy)


def _about_kind(held: ManifestObject, known: Unknown) -> Iterator[Violation]:
    if known.is_placeholder:
        field = "kind" if is_placeholder(held.kind) else "apiVersion"
        yield Violation((field,), f"{field} is a template placeholder", _RENDER)
    elif known.meant:
        problem = "there is no kind {} in {}; did you mean {}?"
        yield Violation(("kind",), message(problem, held.kind, held.group or "v1", known.meant), known.remedy)


def _of_program(program: str, mention: Mention) -> Violation:
    """The violation about an amount with which a program makes pods."""
    amount, rest = divmod(parse_or_zero(mention.value), NANO)
    count = "an amount" if rest or not 0 < amount < _COUNTED else amount
    problem = f"each pod that {program} starts by this value asks for {count} of {{}}, not checked here"
    if mention.is_text:
        problem = f"this text gives pods that {program} starts an amount of {{}}, which is not checked here"
    remedy = "compare the amount with the limit; the webhook checks these pods when they start"
    return Violation(mention.path, message(problem, mention.name), remedy)


_COUNTED = 10**6
"""An amount that a message no longer states."""


def _remedy(held: ManifestObject, known: Kind | Unknown, mention: Mention) -> str:
    """What to do about an amount in an object from which no other one is rendered, where no place is near."""
    if mention.is_text:
        return "check the manifest that is made of it"
    if is_placeholder(mention.value):
        return _RENDER
    if isinstance(known, Unknown) and known.remedy:
        return known.remedy
    if (held.group, held.kind) in BUILT_IN and isinstance(known, Kind):
        return f"move it to {written(next(places(known)))}"
    added = mention.resources and entry(held.group, held.kind, mention.resources, "resources")
    return f"add {added} to workloads.paths" if added else "check the pods that its controller makes of it"


def _why_searched(held: ManifestObject, unknown: Unknown, found: Iterable[_Found]) -> str:
    """Why the pods of an object had to be searched for, and the settings that make the first ones known."""
    if held.rendered_by:
        return f"other objects are rendered from it; check the output of {held.rendered_by}"
    is_later, entries = True, dict[str, None]()
    for path, place, is_of_object in found:
        is_later &= is_of_object
        if len(entries) < _MOST_ENTRIES and not isinstance(place.holds, Assembly):
            added = entry(held.group, held.kind, path, place.holds, place.steps)
            entries |= {added: None} if added else {}
    said = "the webhook checks the objects in it when a controller creates them"
    if not is_later:
        said = "a search found its pods, which the webhook in the cluster does not check"
    if unknown.cause or not entries:
        return f"{unknown.cause or 'unknown kind'}: {said}"
    return f"unknown kind: {said}; add {' and '.join(entries)} to workloads.paths" + " to check it before" * is_later


_MOST_ENTRIES = 3
"""Entries that are proposed for one object."""


def _open_amounts(held: ManifestObject, pods: Sequence[PodContext]) -> str:
    """Why the pods of an object may get GPUs for which they do not ask; empty where nothing is known."""
    chosen = None if any(one.requests.named for one in pods) else ASSIGNED.get((held.group, held.kind))
    if chosen is not None:
        return f"open: it asks for no GPU resource; {chosen}"
    return _CLAIMS if any(one.pod.spec.get("resourceClaims") for one in pods) else ""


_CLAIMS = "open: its resource claims, which may give it GPUs, are not checked"


def _why_skipped(
    held: ManifestObject, known: Kind | Unknown, mentions: Sequence[Mention], *, is_named: bool = False
) -> str:
    """Why nothing of an object is checked. `is_named`: it names a GPU resource in some place."""
    group, kind = held.group, held.kind
    cause = known.cause if isinstance(known, Unknown) else ""
    if mentions:
        return "skipped: nothing checks the GPU resource that it names" + (f"; {cause}" if cause else "")
    if (group, kind) in BUILT_IN:
        return "skipped: it holds no pod template"
    if held.rendered_by:
        return f"skipped: other objects are rendered from it; check the output of {held.rendered_by}"
    chosen = ASSIGNED.get((group, kind))
    if chosen is not None:
        return f"skipped: it asks for no GPU resource; {chosen}"
    if isinstance(known, Kind) or (is_of_kubernetes(group) and not cause):
        return "skipped: it requests no GPU resource"
    named = "names a GPU resource, and no amount for a pod" if is_named else "names none of the configured resources"
    return f"skipped: {cause or 'unknown kind'}; it {named}"


class _Found(NamedTuple):
    """Pods that name a GPU resource: the path to them, or to an object in which the place leads to them."""

    path: Path
    place: PodPath
    is_of_object: bool = False


MOST_LEVELS = 8
"""Objects inside each other that are read as what they are. Each is encoded with all that it holds."""


class OfflineEvaluator(Evaluator):
    """An evaluator that also searches an object for pods, and for amounts of GPU resources, that no path leads to."""

    def __init__(self, snapshot: Snapshot, kinds: Kinds) -> None:
        super().__init__(snapshot, kinds)
        self._names = GpuNames(snapshot.gpus)
        self._by_name = by_folded_name(kinds)

    def evaluate(self, manifest: Members, group: str, kind: str, origin: RequestContext) -> Verdict:
        """The verdict for an object. On the command line, the object is also searched for what no path leads to.

        Raises MalformedError, and TooManyPodsError for more than MOST_PODS pods.
        """
        pods = self.pods(manifest, group, kind)
        if not origin.is_offline:
            return self.verdict(pods, origin)
        return self._offline(ManifestObject(manifest, group, kind), pods, origin)

    def _offline(self, held: ManifestObject, pods: list[ExtractedPod], origin: RequestContext) -> Verdict:
        """The verdict for an object with these pods, on the command line. Raises MalformedError."""
        manifest, group, kind, _ = held
        if (group, kind) == sharing.KIND:  # it applies to nodes, and so in no namespace
            verdict = VerdictBuilder()
            config = self.with_facts(sharing.SharingConfig(sharing.of_object(manifest)))
            run_checks(CONFIG_CHECKS, config, self.snapshot.of(""), verdict)
            return verdict.build()
        if (group, kind) == VALUES:
            return self._of_names(held, "")
        if (group, kind) == PROGRAM_VALUES:
            mentions = [one for one in find_mentions(manifest, self._names, ()) if program_of(one) is not None]
            verdict = VerdictBuilder()
            run_checks(
                OBJECT_CHECKS, _unchecked(held, Unknown(), mentions), self.snapshot.of(origin.namespace), verdict
            )
            return verdict.build() if verdict.counts else skipped("skipped: values that give no pods GPUs")
        why_not_searched = self.snapshot.of(origin.namespace).exemption
        if why_not_searched is None and (runs_no_pods := why_no_pods(group, kind)) is not None:
            why_not_searched = f"skipped: {runs_no_pods} and runs no pods"
        if why_not_searched is not None:
            if (group, kind) in LIMITING:
                return self._of_limits(held, origin, why_not_searched)
            if (group, kind) in NAMING:
                return self._of_names(held, why_not_searched)
            return self.verdict(pods, origin) if pods else skipped(why_not_searched)
        known = self.kinds.get((group, kind))
        if known is None or not (pods or has_known_version(manifest, known)):
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
        run_checks(NAME_CHECKS, ConfigNames(held.manifest, held.group, held.kind, known), self.snapshot.of(""), verdict)
        return verdict.build() if verdict.counts or not why_not_searched else skipped(why_not_searched)

    def _of_known(self, held: ManifestObject, kind: Kind, pods: list[ExtractedPod], origin: RequestContext) -> Verdict:
        """The verdict for an object with these pods, in which a search may find amounts elsewhere."""
        verdict = VerdictBuilder()
        checked = self.check(pods, origin, verdict)
        text = encoded(held.manifest)
        mentions = self._mentions(held.manifest, text, pods, checked)
        if not pods:
            mentions += _bare(held, text, (one.path for one in mentions))
        verdict.reason = verdict.reason or _open_amounts(held, checked)
        if pods and not mentions:
            return verdict.build()
        run_checks(OBJECT_CHECKS, _unchecked(held, kind, mentions), self.snapshot.of(origin.namespace), verdict)
        return verdict.build() if pods or verdict.counts else skipped(_why_skipped(held, kind, mentions))

    def _of_unknown(self, held: ManifestObject, origin: RequestContext) -> Verdict:
        """The verdict for an object of an unknown kind, in which a search may find pods, and amounts elsewhere."""
        verdict = VerdictBuilder()
        pods, checked, objects = self._check_found(held, origin, verdict)
        text = encoded(held.manifest)
        mentions = self._mentions(held.manifest, text, pods, checked, objects)
        left_out = chain(chain.from_iterable(map(containers_of, pods)), objects, (one.path for one in mentions))
        mentions += _bare(held, text, left_out)
        unknown_kind = unknown(held.group, held.kind, self._by_name)
        naming = [_Found(one.extracted.path, one.extracted.place) for one in checked if _names_gpu(one)]
        naming += chain.from_iterable(objects.values())
        unchecked = _unchecked(held, unknown_kind, mentions, has_found_pods=bool(naming))
        run_checks(OBJECT_CHECKS, unchecked, self.snapshot.of(origin.namespace), verdict)
        if naming and not verdict.reason:
            verdict.reason = _why_searched(held, unknown_kind, naming)
        if verdict.counts or verdict.reason:
            return verdict.build()
        return skipped(_why_skipped(held, unknown_kind, mentions, is_named=self._names.named_in(text)))

    def _check_found(
        self, held: ManifestObject, origin: RequestContext, verdict: VerdictBuilder
    ) -> tuple[list[ExtractedPod], list[PodContext], dict[Path, list[_Found]]]:
        """Check mappings that look like pods or objects, with a warning at most.

        Return the pods, the checked contexts, and the paths to objects with their pods that name a GPU resource. A
        mapping without the structure of a pod, or of its kind, is left out.
        """
        policy = self.snapshot.of(origin.namespace)
        deferral = Kind(held.group, held.kind, ()).deferral(held.manifest)
        found, checked, objects = [], [], dict[Path, list[_Found]]()
        guesses = () if (held.group, held.kind) == FRAGMENT else islice(find_pods(held.manifest), MOST_PODS)
        for path, raw, holds in guesses:
            try:
                if holds == "object":
                    if held.level < MOST_LEVELS:
                        objects[path] = self._check_inner(held, path, raw, origin, verdict, deferral)
                    continue
                place = PodPath("", holds)
                pod = ExtractedPod(path, raw, place, held.manifest, is_pod=False, deferral=deferral)
                context = PodContext(pod, origin, policy)
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
        return found, checked, objects

    def _check_inner(
        self,
        held: ManifestObject,
        path: Path,
        raw: Members,
        origin: RequestContext,
        verdict: VerdictBuilder,
        deferral: Deferral | None,
    ) -> list[_Found]:
        """Check an object in another one as what it is, with a warning at most. Return its pods that name GPUs.

        A controller creates it later, in a cluster and a namespace that may be others. Raises MalformedError.
        """
        inner = ManifestObject(raw, group_of(raw["apiVersion"]), raw["kind"], held.level + 1)
        metadata = raw.get("metadata")
        namespace = metadata.get("namespace") if isinstance(metadata, dict) else None
        if isinstance(namespace, str) and namespace:
            origin = origin._replace(namespace=namespace)
        pods = self.pods(*inner[:3])
        for one in pods:
            one.deferral = one.deferral or deferral
        found = self._offline(inner, pods, origin)
        for finding in found.findings:
            whole = Violation((*path, *finding.path), finding.message, finding.remedy)
            verdict.add(finding.code, min(finding.severity, Severity.WARN), whole)
        for (code, severity), count in found.omitted_by_severity().items():
            counted = code, min(severity, Severity.WARN)
            verdict.counts[counted] = verdict.counts.get(counted, 0) + count
        if not found.is_skipped and not pods:
            verdict.reason = verdict.reason or found.reason
        naming = (one for one in pods if _names_gpu(self.context(one, origin)))
        return [_Found(path, one.place, is_of_object=True) for one in naming]

    def _mentions(
        self,
        manifest: Members,
        text: bytes | None,
        pods: list[ExtractedPod],
        checked: list[PodContext],
        objects: Iterable[Path] = (),
    ) -> tuple[Mention, ...]:
        """The amounts of an object that no check of its pods reads. Exempt pods are left alone."""
        names = self._names
        read = {path for context in checked for path in amounts_read(context.requests)}
        if names.occurrences(text) == len(read):
            return ()  # as for most objects, for which the search takes too long
        containers = chain.from_iterable(containers_of(context.extracted) for context in checked)
        exempt = {pod.path for pod in pods}.difference(context.extracted.path for context in checked)
        return tuple(find_mentions(manifest, names, read.union(exempt, objects), containers))


def _names_gpu(context: PodContext) -> bool:
    requests = context.requests
    return bool(requests.named or requests.positive or requests.of_pod)


def _bare(held: ManifestObject, text: bytes | None, left_out: Iterable[Path]) -> tuple[Mention, ...]:
    """The amounts below bare names outside the parts that are left out, from the object and its encoding."""
    # What the fields of Kubernetes' own kinds mean is known; for a source of manifests, a chart or an overlay says it.
    if (held.group, held.kind) in RENDERED or is_of_kubernetes(held.group):
        return ()
    if text is not None and not any(name in text for name in ENCODED_BARE):
        return ()
    return tuple(find_bare(held.manifest, left_out))
