"""The evaluator: an object in, one verdict out, for the server and the command line alike.

Memory is bounded, however many findings and edits an object leads to.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice

from webhook.policy.checks import (
    CHECKS,
    CONFIG_CHECKS,
    LIMIT_CHECKS,
    LIMITING,
    NAME_CHECKS,
    OBJECT_CHECKS,
    POD_CHECKS,
    gps008_users,
)
from webhook.policy.checks.check import Check, Context
from webhook.policy.context import (
    ManifestObject,
    NamespaceLimits,
    ObjectContext,
    Origin,
    PodContext,
    open_amounts,
    suppressed_codes,
    why_searched,
    why_skipped,
)
from webhook.policy.decided import Decided
from webhook.policy.injections import ALL, STEERING, WITHOUT_GPU
from webhook.policy.mark import mark
from webhook.policy.placement.cluster_nodes import cluster_nodes
from webhook.policy.placement.facts import NOTHING_SHOWN, UNKNOWN, Facts, Shown
from webhook.policy.pods.reading import MalformedError, Members
from webhook.policy.rules import Cap, Rules, Ruleset, carries
from webhook.policy.settings.settings import Settings
from webhook.policy.sharing import context as sharing
from webhook.policy.sharing.names import NAMING, VALUES, ConfigNames
from webhook.policy.steps import Steps, finished
from webhook.policy.verdict import MOST_EDITS, Edit, Path, Severity, Verdict, VerdictBuilder, Violation, skipped
from webhook.policy.workloads.bare import find_bare, has_unknown_fields, may_have_bare
from webhook.policy.workloads.claims import how_claimed
from webhook.policy.workloads.extracted import ExtractedPod
from webhook.policy.workloads.kinds import MOST_PODS, Kind, Kinds, extract
from webhook.policy.workloads.presets import kinds_with
from webhook.policy.workloads.search import (
    GpuNames,
    Mention,
    amounts_read,
    containers_of,
    encoded,
    find_mentions,
    find_pods,
)
from webhook.policy.workloads.unknown import unknown
from webhook.policy.workloads.without_pods import FRAGMENT, active, why_no_pods


class Evaluator:
    """One snapshot of settings and facts that evaluates objects. Replace it as a whole; read it once per request.

    `decided`: what policies in the API server decide; None without policies.
    """

    __slots__ = ("_checks", "_decided", "_names", "kinds", "ruleset")

    def __init__(self, ruleset: Ruleset, kinds: Kinds, decided: Decided | None = None) -> None:
        self.ruleset = ruleset
        self.kinds = kinds
        self._decided = decided
        self._checks: dict[tuple[frozenset[str] | bool, ...], tuple[Check[PodContext], ...]] = {}
        self._names: GpuNames | None = None

    @classmethod
    def of(cls, settings: Settings, facts: Facts = UNKNOWN, shown: Shown = NOTHING_SHOWN) -> Evaluator:
        """The evaluator for settings and facts, and for what objects show, with all registered checks."""
        return finished(cls.building(settings, facts, shown))

    @classmethod
    def building(cls, settings: Settings, facts: Facts, shown: Shown = NOTHING_SHOWN) -> Steps[Evaluator]:
        """The evaluator, built in steps: a server handles requests between them."""
        nodes = yield from cluster_nodes(settings, facts, shown)
        severities = {check.code: check.severity for check in CHECKS}
        return cls(Ruleset(settings, facts, severities, nodes, shown), kinds_with(settings.workloads))

    def capped(self, cap: Cap) -> Evaluator:
        """The evaluator for the same settings and facts in which no mode is above the cap.

        It shares all that was built, so that a cap is in force at once, whatever the size of the cluster.
        """
        return self if cap == self.ruleset.cap else Evaluator(self.ruleset.capped(cap), self.kinds, self._decided)

    def leaving(self, decided: Decided | None) -> Evaluator:
        """The evaluator for the same settings and facts that leaves decisions to policies, unless the mode is capped.

        A cap switches the policies off, and the hooks warn and record instead.
        """
        return Evaluator(self.ruleset, self.kinds, decided)

    def evaluate(self, manifest: Members, group: str, kind: str, origin: Origin) -> Verdict:
        """The verdict for an object. On the command line, the object is also searched for what no path leads to.

        Raises MalformedError, and TooManyPodsError for more than MOST_PODS pods.
        """
        pods = self.pods(manifest, group, kind)
        if not origin.is_offline:
            return self.verdict(pods, origin)
        if (group, kind) == sharing.KIND:
            return self._of_configuration(manifest)
        if (group, kind) == VALUES:
            return self._of_names(ManifestObject(manifest, group, kind), "")
        why_not_searched = self._why_not_searched(ManifestObject(manifest, group, kind), origin)
        if why_not_searched is not None:
            if (group, kind) in LIMITING:
                return self._of_limits(ManifestObject(manifest, group, kind), origin, why_not_searched)
            if (group, kind) in NAMING:
                return self._of_names(ManifestObject(manifest, group, kind), why_not_searched)
            return self.verdict(pods, origin) if pods else skipped(why_not_searched)
        known = self.kinds.get((group, kind))
        if known is None:
            return self._of_unknown(ManifestObject(active(manifest, group, kind), group, kind), origin)
        return self._of_known(ManifestObject(manifest, group, kind), known, pods, origin)

    def pods(self, manifest: Members, group: str, kind: str) -> list[ExtractedPod]:
        """The pods of an object; none for a kind that holds no pods. Raises MalformedError and TooManyPodsError."""
        return extract(self.kinds, manifest, group, kind)

    def context(self, extracted: ExtractedPod, origin: Origin) -> PodContext:
        """The context in which a pod is checked. Raises MalformedError."""
        return PodContext(extracted, origin, self.ruleset.of(origin.namespace))

    def verdict(self, pods: Iterable[ExtractedPod], origin: Origin) -> Verdict:
        """The verdict for an object that holds these pods: the most severe decision, and the findings of all pods.

        Raises MalformedError when the structure of a pod is not that of its kind.
        """
        verdict = VerdictBuilder()
        self._check(pods, origin, verdict)
        return verdict.build()

    def _check(self, pods: Iterable[ExtractedPod], origin: Origin, verdict: VerdictBuilder) -> list[PodContext]:
        """Check pods, and return the contexts of those that are not exempt."""
        rules = self.ruleset.of(origin.namespace)
        checked = []
        for extracted in pods:
            context = PodContext(extracted, origin, rules)
            exempt = exemption(context)
            if exempt is not None:
                verdict.reason = exempt
                continue
            checked.append(context)
            if context.deferral is not None:
                verdict.reason = context.deferral.value
            if origin.added_containers is None:
                _inject(context, verdict)
            self._run(context, verdict)
            if origin.is_offline and gps008_users.CHECK.code not in suppressed_codes(context):
                verdict.users.extend([(user, path) for _, user, path in gps008_users.mps_users(context)])
        return checked

    def _why_not_searched(self, held: ManifestObject, origin: Origin) -> str | None:
        """Why an object on the command line is not searched; None if it is."""
        exempt = self.ruleset.of(origin.namespace).exemption
        if exempt is not None:
            return exempt
        runs_no_pods = how_claimed(*held) or why_no_pods(held.group, held.kind)
        return None if runs_no_pods is None else f"skipped: {runs_no_pods} and runs no pods"

    def _of_limits(self, held: ManifestObject, origin: Origin, why_not_searched: str) -> Verdict:
        """The verdict for an object that limits the pods of a namespace; skipped where it names no GPU resource.

        Raises MalformedError.
        """
        rules, verdict = self.ruleset.of(origin.namespace), VerdictBuilder()
        checks = [check for check in LIMIT_CHECKS if check.code in rules.active]
        if not checks or rules.exemption is not None or self._names_of_gpus().occurrences(encoded(held.manifest)) == 0:
            return skipped(why_not_searched)
        offered = self.ruleset.nodes.index.offered if self.ruleset.nodes.known else ()
        _run_checks(checks, NamespaceLimits(held, self.ruleset.gpus, offered), rules, verdict)
        return verdict.build()

    def _of_names(self, held: ManifestObject, why_not_searched: str) -> Verdict:
        """The verdict for an object that may name a configuration of the device plugin.

        Where nothing is wrong, and there is a reason, it is skipped.
        """
        plugin, verdict = self.ruleset.facts.device_plugin, VerdictBuilder()
        known = None if plugin is None or plugin.configs is None else {config.name for config in plugin.configs}
        known = None if known is None else known | self.ruleset.nodes.refused
        _run_checks(NAME_CHECKS, ConfigNames(*held, known), self.ruleset.of(""), verdict)
        return verdict.build() if verdict.counts or not why_not_searched else skipped(why_not_searched)

    def _of_configuration(self, manifest: Members) -> Verdict:
        """The verdict for a configuration of the device plugin. It applies to nodes, and so in no namespace."""
        verdict = VerdictBuilder()
        context = sharing.SharingConfig(sharing.of_object(manifest), self._plugin_version())
        _run_checks(CONFIG_CHECKS, context, self.ruleset.of(""), verdict)
        return verdict.build()

    def configurations(self, texts: Iterable[sharing.ConfigText]) -> Verdict:
        """The verdict for these configurations in a ConfigMap of a request. The paths of findings lead into the texts.

        It is a warning at most unless `severities` names the check: a denial can keep administrators from a repair.
        """
        rules, version, verdict = self.ruleset.of(""), self._plugin_version(), VerdictBuilder()
        named = self.ruleset.settings.severities
        checks = [
            (check, min(rules.severities[check.code], Severity.DENY if check.code in named else Severity.WARN))
            for check in CONFIG_CHECKS
            if check.code in rules.active
        ]
        for text in texts:
            context = sharing.SharingConfig(text.value, version, text.unread)
            for check, severity in checks:
                for violation in check.run(context):
                    found = violation._replace(path=(*text.path, *violation.path))
                    verdict.add(check.code, min(severity, violation.cap), found)
        return verdict.build()

    def _plugin_version(self) -> str | None:
        plugin, source = self.ruleset.facts.device_plugin, self.ruleset.settings.facts.device_plugin
        return (None if source is None else source.version) or (None if plugin is None else plugin.version)

    def _names_of_gpus(self) -> GpuNames:
        if self._names is None:
            self._names = GpuNames(self.ruleset.gpus)
        return self._names

    def _of_known(self, held: ManifestObject, kind: Kind, pods: list[ExtractedPod], origin: Origin) -> Verdict:
        """The verdict for an object with these pods, in which a search may find amounts elsewhere."""
        verdict = VerdictBuilder()
        checked = self._check(pods, origin, verdict)
        text = encoded(held.manifest)
        mentions = self._mentions(held.manifest, text, pods, checked)
        if not pods or kind.has_bare_amounts:
            # Also those of other vendors, of which no check asks.
            own = (path for context in checked for one in context.pod.containers for path in one.bare_amounts)
            known = (one.path for one in mentions)
            mentions += _bare(held, text, chain(own, known, _left_alone(pods, checked)))
        verdict.reason = verdict.reason or open_amounts(held, checked)
        if pods and not mentions:
            return verdict.build()
        context = ObjectContext(held, kind, None, (), mentions)
        self._run_on_object(context, origin, verdict)
        return verdict.build() if pods or verdict.counts else skipped(why_skipped(context))

    def _of_unknown(self, held: ManifestObject, origin: Origin) -> Verdict:
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
        context = ObjectContext(held, None, unknown_kind, naming, mentions)
        self._run_on_object(context, origin, verdict)
        if naming and not verdict.reason:
            verdict.reason = why_searched(held, unknown_kind, naming[0])
        return verdict.build() if verdict.counts or verdict.reason else skipped(why_skipped(context))

    def _check_found(
        self, held: ManifestObject, origin: Origin, verdict: VerdictBuilder
    ) -> tuple[list[ExtractedPod], list[PodContext]]:
        """Check mappings that look like pods, with a warning at most. Return the pods, and the checked contexts.

        A mapping without the structure of a pod is left out.
        """
        rules = self.ruleset.of(origin.namespace)
        deferral = Kind(held.group, held.kind, ()).deferral(held.manifest)
        found, checked = [], []
        guesses = () if (held.group, held.kind) == FRAGMENT else islice(find_pods(held.manifest), MOST_PODS)
        for guess in guesses:
            try:
                context = PodContext(guess.extracted(held.manifest, deferral), origin, rules)
                exempt = exemption(context)
                if exempt is None:
                    _inject(context, VerdictBuilder())
                    self._run(context, verdict, Severity.WARN)
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
        names = self._names_of_gpus()
        read = {path for context in checked for path in amounts_read(context.requests)}
        if names.occurrences(text) == len(read):
            return ()  # as for most objects, for which the search takes too long
        containers = chain.from_iterable(containers_of(context.extracted) for context in checked)
        return tuple(find_mentions(manifest, names, read | _left_alone(pods, checked), containers))

    def _run(self, context: PodContext, verdict: VerdictBuilder, cap: Severity = Severity.DENY) -> None:
        """Run the checks of a pod and collect their findings, of a severity up to the cap. Raises MalformedError."""
        severities = context.rules.severities
        suppressed = () if context.rules.suppressing_annotation is None else suppressed_codes(context)
        for check in self._checks_for(context):
            for violation in check.run(context):
                if self._is_left(context, check.code, violation):
                    continue
                severity = min(severities[check.code], violation.cap, cap)
                if check.code in suppressed:
                    verdict.suppress(check.code, severity, violation)
                else:
                    verdict.add(check.code, severity, violation)

    def _is_left(self, context: PodContext, code: str, violation: Violation) -> bool:
        decided = self._decided
        return decided is not None and self.ruleset.cap == "enforce" and decided.has(context, code, violation)

    def _run_on_object(self, context: ObjectContext, origin: Origin, verdict: VerdictBuilder) -> None:
        _run_checks(OBJECT_CHECKS, context, self.ruleset.of(origin.namespace), verdict)

    def _checks_for(self, context: PodContext) -> tuple[Check[PodContext], ...]:
        """The checks that are active in the namespace and whose scope includes the pod, in the order of their codes.

        The settings bound the sets of active codes, and each occurs with at most 32 combinations of scopes.
        """
        active = context.rules.active
        key = (
            active,
            bool(context.mps_requests),
            bool(context.requests.positive),
            bool(context.requests.named or context.requests.of_pod),
            context.expects_edits,
            context.origin.added_containers is None,
        )
        checks = self._checks.get(key)
        if checks is None:
            checks = self._checks[key] = tuple(
                check for check in POD_CHECKS if check.code in active and check.scope.includes(context)
            )
        return checks


def _run_checks(checks: Iterable[Check[Context]], context: Context, rules: Rules, verdict: VerdictBuilder) -> None:
    """Run the checks that are active, and collect their findings. Raises MalformedError."""
    for check in checks:
        if check.code in rules.active:
            for violation in check.run(context):
                verdict.add(check.code, min(rules.severities[check.code], violation.cap), violation)


def _left_alone(pods: Iterable[ExtractedPod], checked: Iterable[PodContext]) -> set[Path]:
    """The paths to the pods that are not checked, because they are exempt."""
    return {extracted.path for extracted in pods}.difference(context.extracted.path for context in checked)


def _bare(held: ManifestObject, text: bytes | None, left_out: Iterable[Path]) -> tuple[Mention, ...]:
    """The amounts below bare names outside the parts that are left out, from the object and its encoding."""
    if not may_have_bare(text) or not has_unknown_fields(held.group, held.kind):
        return ()
    return tuple(find_bare(held.manifest, left_out))


def _inject(context: PodContext, verdict: VerdictBuilder) -> None:
    """Give a pod its edits, or report them; when there are too many, none is made.

    A template gets edits wherever it is checked, though few callers read them: injections also read its structure,
    so that a malformed template is an error on the command line and in each hook.
    """
    edits: list[Edit] = []
    names = []
    injections = ALL if context.requests.positive else WITHOUT_GPU
    for injection in injections if context.pod.is_editable else (STEERING,):
        reason = injection.why_not(context)
        if reason is None:
            before = len(edits)
            edits.extend(islice(injection.edits(context), MOST_EDITS + 1 - before))
            if len(edits) > before:
                names.append(injection.name)
            if injection is STEERING:
                context.steer()
        elif context.requests.positive:
            verdict.withheld[injection.name] = reason
    is_reported = context.rules.reports_injections
    if is_reported or len(edits) > MOST_EDITS:
        context.leave_as_received()  # none of the edits is made
    if is_reported:
        verdict.report(names if len(edits) <= MOST_EDITS else ())
    elif edits:
        context.edits = edits
        verdict.add_edits(edits, names)
        if context.is_pod and context.rules.injections.annotate:
            verdict.mark = mark(context.pod, names)


def exemption(context: PodContext) -> str | None:
    """Why the pod is left alone; None for one that is checked."""
    if context.rules.exemption is not None:
        return context.rules.exemption
    annotation = context.rules.settings.exempt.annotation
    if annotation is not None and carries(context.pod.annotations, annotation):
        return "exempt: the pod has the annotation of exempt.annotation"
    if _is_mirror(context):
        return "exempt: the pod mirrors a static pod, which a kubelet runs already"
    extracted = context.extracted
    if extracted.place.is_unused(extracted.manifest, extracted.path):
        return "exempt: the controller makes no pods of a part that is not enabled"
    return "exempt: the pod runs on Windows" if _is_windows(context) else None


def _is_mirror(context: PodContext) -> bool:
    """Whether the pod mirrors one that a kubelet runs already.

    Any user can set the annotation, so a hook trusts it only from a node. Offline the annotation is enough.
    """
    if "kubernetes.io/config.mirror" not in context.pod.annotations or not context.is_pod:
        return False
    return context.origin.is_offline or "system:nodes" in (context.origin.groups or ())


def _is_windows(context: PodContext) -> bool:
    pod = context.pod
    if pod.spec.get("os") is not None and pod.members("os").get("name") == "windows":
        return True
    return pod.spec.get("nodeSelector") is not None and pod.members("nodeSelector").get("kubernetes.io/os") == "windows"
