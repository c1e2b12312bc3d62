"""The evaluator: an object in, one verdict out. The server and the command line use the same one.

Memory is bounded, however many findings and edits an object leads to.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice

from webhook.policy.checks import CHECKS, OBJECT_CHECKS, POD_CHECKS
from webhook.policy.checks.check import Check
from webhook.policy.context import Origin, PodContext
from webhook.policy.exemption import exemption
from webhook.policy.injections import INJECTIONS, STEERING
from webhook.policy.mps_users import mps_users
from webhook.policy.object_context import ManifestObject, ObjectContext, why_searched, why_skipped
from webhook.policy.placement.facts import UNKNOWN, Facts
from webhook.policy.pods.gpu_resources import GpuResources
from webhook.policy.pods.reading import MalformedError, Members
from webhook.policy.rules import Ruleset
from webhook.policy.settings.settings import Settings
from webhook.policy.steps import Steps, finished
from webhook.policy.suppression import suppressed_codes
from webhook.policy.verdict import MOST_EDITS, Edit, Severity, Verdict, skipped
from webhook.policy.verdict_builder import VerdictBuilder
from webhook.policy.workloads.extracted import ExtractedPod
from webhook.policy.workloads.kinds import BUILT_IN, MOST_PODS, Kind, Kinds, extract
from webhook.policy.workloads.presets import kinds_with
from webhook.policy.workloads.search import GpuNames, covers, find_mentions, find_pods
from webhook.policy.workloads.unknown import unknown
from webhook.policy.workloads.without_pods import RUNS_NO_PODS

_USERS = "GPS008"
"""The check that compares users, also across the objects of a run."""

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
        """The same in steps, for a server that handles requests meanwhile."""
        ruleset = yield from Ruleset.building(settings, facts, _DEFAULT_SEVERITIES)
        return cls(ruleset, kinds_with(settings.workloads))

    def evaluate(self, manifest: Members, group: str, kind: str, origin: Origin) -> Verdict:
        """The verdict for an object. On the command line, an object of a kind that is not built in is also searched.

        Raises MalformedError, and TooManyPodsError for more than MOST_PODS pods.
        """
        pods = self.pods(manifest, group, kind)
        if not origin.is_offline:
            return self.verdict(pods, origin)
        why_not_searched = self._why_not_searched(group, kind, origin)
        if why_not_searched is None:
            return self._searched(ManifestObject(manifest, group, kind), pods, origin)
        return self.verdict(pods, origin) if pods else skipped(why_not_searched)

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

    def _check(self, pods: Iterable[ExtractedPod], origin: Origin, verdict: VerdictBuilder) -> None:
        rules = self.ruleset.of(origin.namespace)
        for extracted in pods:
            context = PodContext(extracted, origin, rules)
            exempt = exemption(context)
            if exempt is not None:
                verdict.reason = exempt
                continue
            if context.deferral is not None:
                verdict.reason = context.deferral.value
            if origin.added_containers is None:
                context.edits = _inject(context, verdict.withheld)
                verdict.add_edits(context.edits)
            verdict.run(self._checks_for(context), context)
            if origin.is_offline and _USERS not in suppressed_codes(context):
                verdict.users.extend([(user, path) for _, user, path in mps_users(context)])

    def _why_not_searched(self, group: str, kind: str, origin: Origin) -> str | None:
        """Why an object on the command line is not searched; None if it is."""
        if (group, kind) in BUILT_IN:
            return "skipped: it holds no pod template"
        exempt = self.ruleset.of(origin.namespace).exemption
        if exempt is not None:
            return exempt
        runs_no_pods = RUNS_NO_PODS.get((group, kind))
        return None if runs_no_pods is None else f"skipped: {runs_no_pods} and runs no pods"

    def _searched(self, held: ManifestObject, pods: list[ExtractedPod], origin: Origin) -> Verdict:
        """The verdict for an object with these pods, in which a search may find more pods, and amounts elsewhere."""
        rules = self.ruleset.of(origin.namespace)
        verdict = VerdictBuilder()
        self._check(pods, origin, verdict)
        found: list[PodContext] = []
        stranger = None
        if (held.group, held.kind) not in self.kinds:
            stranger = unknown(held.group, held.kind, self.kinds)
            found = self._check_found(held, origin, verdict)
        covered = chain.from_iterable(covers(one) for one in (*pods, *(context.extracted for context in found)))
        context = ObjectContext(
            held,
            stranger,
            tuple(context.extracted for context in found if context.requests.named or context.requests.positive),
            tuple(find_mentions(held.manifest, self._gpu_names(), covered)),
        )
        verdict.run_on_object(OBJECT_CHECKS, context, rules)
        if stranger is not None and context.pods and not verdict.reason:
            verdict.reason = why_searched(held, stranger, context.pods[0])
        if pods or context.pods or verdict.counts or verdict.reason:
            return verdict.build()
        return skipped(why_skipped(context))

    def _check_found(self, held: ManifestObject, origin: Origin, verdict: VerdictBuilder) -> list[PodContext]:
        """Check what looks like pods, with a warning at most, and return their contexts.

        What has not the structure of a pod is none.
        """
        rules = self.ruleset.of(origin.namespace)
        deferral = Kind(held.group, held.kind, ()).deferral(held.manifest)
        found = []
        for guess in islice(find_pods(held.manifest), MOST_PODS):
            try:
                context = PodContext(guess.extracted(held.manifest, deferral), origin, rules)
                exempt = exemption(context)
                if exempt is None:
                    context.edits = _inject(context, {})
                    verdict.run(self._checks_for(context), context, Severity.WARN)
                else:
                    verdict.reason = exempt
            except MalformedError:
                continue
            found.append(context)
        return found

    def _gpu_names(self) -> GpuNames:
        """The names of GPU resources, compiled when the command line first needs them."""
        if self._names is None:
            self._names = GpuNames(GpuResources(self.ruleset.settings.resources))
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
