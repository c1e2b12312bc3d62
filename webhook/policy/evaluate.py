"""The evaluator: an object in, one verdict out, for the server and the command line alike.

Memory is bounded, however many findings and edits an object leads to.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice

from webhook.policy.checks import CHECKS, OBJECT_CHECKS, POD_CHECKS, gps008_users
from webhook.policy.checks.check import Check
from webhook.policy.context import (
    ManifestObject,
    ObjectContext,
    Origin,
    PodContext,
    suppressed_codes,
    why_searched,
    why_skipped,
)
from webhook.policy.injections import INJECTIONS, STEERING
from webhook.policy.placement.cluster_nodes import cluster_nodes
from webhook.policy.placement.facts import UNKNOWN, Facts
from webhook.policy.pods.reading import MalformedError, Members
from webhook.policy.rules import Rules, Ruleset, carries
from webhook.policy.settings.settings import Settings
from webhook.policy.steps import Steps, finished
from webhook.policy.verdict import (
    DECISIONS,
    KEPT_PER_CODE,
    MOST_EDITS,
    NOTHING_SUPPRESSED,
    UNTOUCHED,
    Decision,
    Edit,
    Finding,
    Path,
    Severity,
    Suppressed,
    Verdict,
    Violation,
    skipped,
)
from webhook.policy.workloads.extracted import ExtractedPod
from webhook.policy.workloads.kinds import MOST_PODS, Kind, Kinds, extract
from webhook.policy.workloads.presets import kinds_with
from webhook.policy.workloads.search import GpuNames, Mention, amounts_read, containers_of, find_mentions, find_pods
from webhook.policy.workloads.unknown import unknown
from webhook.policy.workloads.without_pods import FRAGMENT, active, why_no_pods

_DEFAULT_SEVERITIES = {check.code: check.severity for check in CHECKS}


class Evaluator:
    """One snapshot of settings and facts that evaluates objects. Replace it as a whole; read it once per request."""

    __slots__ = ("_checks", "_names", "kinds", "ruleset")

    def __init__(self, ruleset: Ruleset, kinds: Kinds) -> None:
        self.ruleset = ruleset
        self.kinds = kinds
        self._checks: dict[tuple[frozenset[str] | bool, ...], tuple[Check[PodContext], ...]] = {}
        self._names: GpuNames | None = None

    @classmethod
    def of(cls, settings: Settings, facts: Facts = UNKNOWN) -> Evaluator:
        """The evaluator for settings and facts, with all registered checks."""
        return finished(cls.building(settings, facts))

    @classmethod
    def building(cls, settings: Settings, facts: Facts) -> Steps[Evaluator]:
        """The evaluator for settings and facts, built in steps: a server handles requests between them."""
        nodes = yield from cluster_nodes(settings, facts)
        return cls(Ruleset(settings, facts, _DEFAULT_SEVERITIES, nodes), kinds_with(settings.workloads))

    def evaluate(self, manifest: Members, group: str, kind: str, origin: Origin) -> Verdict:
        """The verdict for an object. On the command line, the object is also searched for what no path leads to.

        Raises MalformedError, and TooManyPodsError for more than MOST_PODS pods.
        """
        pods = self.pods(manifest, group, kind)
        if not origin.is_offline:
            return self.verdict(pods, origin)
        why_not_searched = self._why_not_searched(group, kind, origin)
        if why_not_searched is not None:
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
                context.edits = _inject(context, verdict.withheld)
                verdict.add_edits(context.edits)
            verdict.run(self._checks_for(context), context)
            if origin.is_offline and gps008_users.CHECK.code not in suppressed_codes(context):
                verdict.users.extend([(user, path) for _, user, path in gps008_users.mps_users(context)])
        return checked

    def _why_not_searched(self, group: str, kind: str, origin: Origin) -> str | None:
        """Why an object on the command line is not searched; None if it is."""
        exempt = self.ruleset.of(origin.namespace).exemption
        if exempt is not None:
            return exempt
        runs_no_pods = why_no_pods(group, kind)
        return None if runs_no_pods is None else f"skipped: {runs_no_pods} and runs no pods"

    def _of_known(self, held: ManifestObject, kind: Kind, pods: list[ExtractedPod], origin: Origin) -> Verdict:
        """The verdict for an object with these pods, in which a search may find amounts elsewhere."""
        verdict = VerdictBuilder()
        checked = self._check(pods, origin, verdict)
        mentions = self._mentions(held.manifest, pods, checked)
        if pods and not mentions:
            return verdict.build()
        context = ObjectContext(held, kind, None, (), mentions)
        verdict.run_on_object(OBJECT_CHECKS, context, self.ruleset.of(origin.namespace))
        return verdict.build() if pods or verdict.counts else skipped(why_skipped(context))

    def _of_unknown(self, held: ManifestObject, origin: Origin) -> Verdict:
        """The verdict for an object of an unknown kind, in which a search may find pods, and amounts elsewhere."""
        verdict = VerdictBuilder()
        pods, checked = self._check_found(held, origin, verdict)
        mentions = self._mentions(held.manifest, pods, checked)
        unknown_kind = unknown(held.group, held.kind, self.kinds)
        naming = tuple([one.extracted for one in checked if one.requests.named or one.requests.positive])
        context = ObjectContext(held, None, unknown_kind, naming, mentions)
        verdict.run_on_object(OBJECT_CHECKS, context, self.ruleset.of(origin.namespace))
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
                    context.edits = _inject(context, {})
                    verdict.run(self._checks_for(context), context, Severity.WARN)
                    checked.append(context)
                else:
                    verdict.reason = exempt
            except MalformedError:
                continue
            found.append(context.extracted)
        return found, checked

    def _mentions(self, manifest: Members, pods: list[ExtractedPod], checked: list[PodContext]) -> tuple[Mention, ...]:
        """The amounts of an object that no check of its pods reads. Exempt pods are left alone."""
        names = self._gpu_names()
        read = {path for context in checked for path in amounts_read(context.requests)}
        if names.occurrences(manifest) == len(read):
            return ()  # as for most objects, for which the search takes too long
        left_alone = {extracted.path for extracted in pods}.difference(context.extracted.path for context in checked)
        containers = chain.from_iterable(containers_of(context.extracted) for context in checked)
        return tuple(find_mentions(manifest, names, read | left_alone, containers))

    def _gpu_names(self) -> GpuNames:
        """The names of GPU resources, compiled when the command line first needs them."""
        if self._names is None:
            self._names = GpuNames(self.ruleset.gpus)
        return self._names

    def _checks_for(self, context: PodContext) -> tuple[Check[PodContext], ...]:
        """The checks that are active in the namespace and whose scope includes the pod, in the order of their codes.

        The settings bound the sets of active codes, and each occurs with at most 32 combinations of scopes.
        """
        active = context.rules.active
        key = (
            active,
            bool(context.mps_requests),
            bool(context.requests.positive),
            bool(context.requests.named),
            context.expects_edits,
            context.origin.added_containers is None,
        )
        checks = self._checks.get(key)
        if checks is None:
            checks = self._checks[key] = tuple(
                check for check in POD_CHECKS if check.code in active and check.scope.includes(context)
            )
        return checks


def _inject(context: PodContext, withheld: dict[str, str]) -> list[Edit]:
    """The edits of a pod; when there are too many, one more than an object may get. Notes what is withheld, and why.

    A template gets edits wherever it is checked, though few callers read them: injections also read its structure,
    so that a malformed template is an error on the command line and in each hook.
    """
    edits = list(_steer(context, withheld))
    for injection in INJECTIONS if context.pod.is_editable else ():
        reason = injection.why_not(context)
        if reason is None:
            edits.extend(islice(injection.edits(context), MOST_EDITS + 1 - len(edits)))
        elif context.requests.positive:
            withheld[injection.name] = reason
    if len(edits) > MOST_EDITS:
        context.leave_as_received()  # none of the edits is made
    return edits


def _steer(context: PodContext, withheld: dict[str, str]) -> Iterable[Edit]:
    """The edits that keep the pod off shared GPUs. From then on the pod is checked as if it were kept off."""
    reason = STEERING.why_not(context)
    if reason is not None:
        if context.requests.positive:
            withheld[STEERING.name] = reason
        return ()
    edits = list(islice(STEERING.edits(context), MOST_EDITS + 1))
    context.steer()
    return edits


class VerdictBuilder:
    """Collects the findings and edits of the pods of one object."""

    __slots__ = ("counts", "edits", "findings", "reason", "suppressed", "users", "withheld")

    def __init__(self) -> None:
        self.findings: dict[str, list[Finding]] = {}
        self.counts: dict[tuple[str, Severity], int] = {}
        self.suppressed: _Suppressed | None = None
        self.edits: list[Edit] = []
        self.reason = ""
        self.withheld: dict[str, str] = {}
        self.users: list[tuple[int, Path]] = []

    def add_edits(self, edits: Iterable[Edit]) -> None:
        """Collect edits, at most one more than an object may get."""
        self.edits.extend(islice(edits, MOST_EDITS + 1 - len(self.edits)))

    def run(self, checks: Iterable[Check[PodContext]], context: PodContext, cap: Severity = Severity.DENY) -> None:
        """Run the checks of a pod and collect their findings, of a severity up to the cap. Raises MalformedError."""
        severities = context.rules.severities
        suppressed = () if context.rules.suppressing_annotation is None else suppressed_codes(context)
        for check in checks:
            for violation in check.run(context):
                severity = min(severities[check.code], violation.cap, cap)
                if check.code in suppressed:
                    self._suppress(check.code, severity, violation)
                else:
                    self._add(check.code, severity, violation)

    def run_on_object(self, checks: Iterable[Check[ObjectContext]], context: ObjectContext, rules: Rules) -> None:
        """Run the checks of an object and collect their findings."""
        for check in checks:
            if check.code in rules.active:
                for violation in check.run(context):
                    self._add(check.code, min(rules.severities[check.code], violation.cap), violation)

    def _add(self, code: str, severity: Severity, violation: Violation) -> None:
        counted = code, severity
        self.counts[counted] = self.counts.get(counted, 0) + 1
        _keep(self.findings, code, severity, violation)

    def _suppress(self, code: str, severity: Severity, violation: Violation) -> None:
        if self.suppressed is None:
            self.suppressed = _Suppressed()
        self.suppressed.add(code, severity, violation)

    def build(self) -> Verdict:
        if not (self.counts or self.edits or self.reason or self.withheld or self.users or self.suppressed):
            return UNTOUCHED
        too_many = len(self.edits) > MOST_EDITS
        return Verdict(
            DECISIONS[max(severity for _, severity in self.counts)] if self.counts else Decision.ALLOWED,
            _in_order(self.findings),
            () if too_many else tuple(self.edits),
            self.counts,
            too_many,
            self.reason,
            tuple(self.withheld.items()),
            tuple(self.users),
            suppressed=self.suppressed.build() if self.suppressed else NOTHING_SUPPRESSED,
        )


class _Suppressed:
    __slots__ = ("counts", "findings")

    def __init__(self) -> None:
        self.findings: dict[str, list[Finding]] = {}
        self.counts: dict[str, int] = {}

    def add(self, code: str, severity: Severity, violation: Violation) -> None:
        self.counts[code] = self.counts.get(code, 0) + 1
        _keep(self.findings, code, severity, violation)

    def build(self) -> Suppressed:
        return Suppressed(_in_order(self.findings), self.counts)


def _keep(kept: dict[str, list[Finding]], code: str, severity: Severity, violation: Violation) -> None:
    """Keep a violation if there is room, or in place of the last one that is less severe.

    Otherwise a pod with enough warnings would be denied without a reason.
    """
    of_code = kept.setdefault(code, [])
    if len(of_code) == KEPT_PER_CODE:
        weaker = [index for index, one in enumerate(of_code) if one.severity < severity]
        if not weaker:
            return
        del of_code[weaker[-1]]
    message = str(violation.message)
    of_code.append(Finding(code, severity, violation.path, message, violation.remedy, violation.fix))


def _in_order(kept: dict[str, list[Finding]]) -> tuple[Finding, ...]:
    return tuple(finding for code in sorted(kept) for finding in kept[code])


_MIRROR = "kubernetes.io/config.mirror"
_NODES = "system:nodes"
_OS_LABEL = "kubernetes.io/os"


def exemption(context: PodContext) -> str | None:
    """Why the pod is left alone; None for one that is checked."""
    if context.rules.exemption is not None:
        return context.rules.exemption
    annotation = context.rules.settings.exempt.annotation
    if annotation is not None and carries(context.pod.annotations, annotation):
        return "exempt: the pod has the annotation of exempt.annotation"
    if _is_mirror(context):
        return "exempt: the pod mirrors a static pod, which a kubelet runs already"
    return "exempt: the pod runs on Windows" if _is_windows(context) else None


def _is_mirror(context: PodContext) -> bool:
    """Whether the pod mirrors one that a kubelet runs already.

    Any user can set the annotation, so a hook trusts it only from a node. Offline the annotation is enough.
    """
    if _MIRROR not in context.pod.annotations or not context.is_pod:
        return False
    return context.origin.is_offline or _NODES in (context.origin.groups or ())


def _is_windows(context: PodContext) -> bool:
    pod = context.pod
    if pod.spec.get("os") is not None and pod.members("os").get("name") == "windows":
        return True
    return pod.spec.get("nodeSelector") is not None and pod.members("nodeSelector").get(_OS_LABEL) == "windows"
