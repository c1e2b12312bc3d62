"""The evaluator: an object in, one verdict out, for the server and the command line alike.

Memory is bounded, however many findings and edits an object leads to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Self

from webhook.policy.checks import CHECKS, CONFIG_CHECKS, POD_CHECKS, gps008_users
from webhook.policy.checks.check import Check, Context, Scope
from webhook.policy.context import PodContext, RequestContext
from webhook.policy.injections import ALL, STEERING, WITHOUT_GPU
from webhook.policy.injections.steering import steered
from webhook.policy.placement.facts import NOTHING_SHOWN, UNKNOWN, Facts, Shown
from webhook.policy.placement.node_classes import FAMILY, clients
from webhook.policy.placement.reachability import cluster_nodes
from webhook.policy.pods.client_limits import INJECTED
from webhook.policy.pods.pod import Pod
from webhook.policy.pods.reading import Members, text
from webhook.policy.settings.settings import Settings
from webhook.policy.sharing.objects import SharingConfig
from webhook.policy.snapshot import Cap, NamespacePolicy, Snapshot, carries
from webhook.policy.steps import Steps, finished
from webhook.policy.verdict import MOST_EDITS, Edit, Extend, Severity, Verdict, VerdictBuilder
from webhook.policy.workloads.kinds import ExtractedPod, Kinds, extract
from webhook.policy.workloads.presets import kinds_with


class Evaluator:
    """One snapshot of settings and facts that evaluates objects. Replace it as a whole; read it once per request."""

    __slots__ = ("_checks", "kinds", "snapshot")

    def __init__(self, snapshot: Snapshot, kinds: Kinds) -> None:
        self.snapshot = snapshot
        self.kinds = kinds
        self._checks: dict[tuple[frozenset[str] | bool, ...], tuple[Check[PodContext], ...]] = {}

    @classmethod
    def of(cls, settings: Settings, facts: Facts = UNKNOWN, shown: Shown = NOTHING_SHOWN) -> Self:
        """The evaluator for settings and facts, and for what objects show, with all registered checks."""
        return finished(cls.building(settings, facts, shown))

    @classmethod
    def building(cls, settings: Settings, facts: Facts, shown: Shown = NOTHING_SHOWN) -> Steps[Self]:
        """The evaluator, built in steps: a server handles requests between them."""
        nodes = yield from cluster_nodes(settings, facts, shown)
        severities = {check.code: check.severity for check in CHECKS}
        return cls(Snapshot(settings, facts, severities, nodes, shown), kinds_with(settings.workloads))

    def capped(self, cap: Cap) -> Self:
        """The evaluator for the same settings and facts in which no mode is above the cap.

        It shares all that was built, so that a cap is in force at once, whatever the size of the cluster.
        """
        return self if cap == self.snapshot.cap else type(self)(self.snapshot.changed(cap=cap), self.kinds)

    def undescribed(self) -> Self:
        """The evaluator for a cluster about which neither settings nor facts say anything."""
        return type(self)(self.snapshot.changed(is_described=False), self.kinds)

    def pods(self, manifest: Members, group: str, kind: str) -> list[ExtractedPod]:
        """The pods of an object; none for a kind that holds no pods. Raises MalformedError and TooManyPodsError."""
        return extract(self.kinds, manifest, group, kind)

    def context(self, extracted: ExtractedPod, origin: RequestContext) -> PodContext:
        """The context in which a pod is checked. Raises MalformedError."""
        return PodContext(extracted, origin, self.snapshot.of(origin.namespace))

    def verdict(self, pods: Iterable[ExtractedPod], origin: RequestContext) -> Verdict:
        """The verdict for an object that holds these pods: the most severe decision, and the findings of all pods.

        Raises MalformedError when the structure of a pod is not that of its kind.
        """
        verdict = VerdictBuilder()
        self.check(pods, origin, verdict)
        return verdict.build()

    def check(self, pods: Iterable[ExtractedPod], origin: RequestContext, verdict: VerdictBuilder) -> list[PodContext]:
        """Check pods, and return the contexts of those that are not exempt."""
        policy = self.snapshot.of(origin.namespace)
        checked = []
        for extracted in pods:
            context = PodContext(extracted, origin, policy)
            exempt = exemption(context)
            if exempt is not None:
                verdict.reason = exempt
                continue
            if context.deferral is not None:
                verdict.reason = context.deferral.value
            if origin.added_containers is None:
                context = inject(context, verdict)
            checked.append(context)
            self.check_pod(context, verdict)
            if origin.is_offline and context.shows_mps:
                verdict.users.extend([(user, path) for _, user, path in gps008_users.mps_users(context)])
        return checked

    def configurations(self, texts: Iterable[SharingConfig]) -> Verdict:
        """The verdict for these configurations in a ConfigMap of a request. The paths of findings lead into the texts.

        It is a warning at most unless `severities` names the check: a denial can keep administrators from a repair.
        """
        policy, verdict = self.snapshot.of(""), VerdictBuilder()
        for config in map(self.with_facts, texts):
            for check in CONFIG_CHECKS:
                if check.code in policy.active:
                    cap = Severity.DENY if check.code in self.snapshot.settings.severities else Severity.WARN
                    for violation in check.run(config):
                        placed = violation._replace(path=(*config.path, *violation.path))
                        verdict.add(check.code, min(policy.severity(check.code, violation), cap), placed)
        return verdict.build()

    def with_facts(self, config: SharingConfig) -> SharingConfig:
        """The same configuration, with what is known of the plugin and the nodes."""
        plugin, source = self.snapshot.facts.device_plugin, self.snapshot.settings.facts.device_plugin
        version = (None if source is None else source.version) or (None if plugin is None else plugin.version)
        index = self.snapshot.nodes.index
        families = {family for family, _ in index.by_value(FAMILY, index.all) if family}
        return config._replace(version=version, clients=clients(families))

    def check_pod(self, context: PodContext, verdict: VerdictBuilder, cap: Severity = Severity.DENY) -> None:
        """Run the checks of a pod and collect their findings, of a severity up to the cap. Raises MalformedError."""
        policy = context.policy
        of_shown = cap if policy.assumes_mps or context.shows_mps else Severity.OFF
        for check in self._checks_for(context):
            most = of_shown if check.scope is Scope.SHOWN_MPS else cap
            for violation in check.run(context):
                verdict.add(check.code, min(policy.severity(check.code, violation), most), violation)

    def _checks_for(self, context: PodContext) -> tuple[Check[PodContext], ...]:
        """The checks that are active in the namespace and whose scope includes the pod, in the order of their codes.

        The settings bound the sets of active codes, and each occurs with at most 64 combinations of scopes.
        """
        active, assumes_mps = context.policy.active, context.policy.assumes_mps
        key = (
            active,
            bool(context.mps_requests),
            assumes_mps or Scope.SHOWN_MPS.includes(context),
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


def run_checks(
    checks: Iterable[Check[Context]],
    context: Context,
    policy: NamespacePolicy,
    verdict: VerdictBuilder,
) -> None:
    """Run the checks that are active, and collect their findings. Raises MalformedError."""
    for check in checks:
        if check.code in policy.active:
            for violation in check.run(context):
                verdict.add(check.code, policy.severity(check.code, violation), violation)


def inject(received: PodContext, verdict: VerdictBuilder) -> PodContext:
    """Give a pod its edits, or report them, and return it as it is checked then. When there are too many, none is made.

    A template gets edits wherever it is checked, though few callers read them: injections also read its structure,
    so that a malformed template is an error on the command line and in each hook.
    """
    context = received
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
                context = steered(context)
        elif context.requests.positive:
            verdict.withheld[injection.name] = reason
    extracted, origin, policy = received.extracted, received.origin, received.policy
    is_named = bool(edits) and policy.injections.annotate and not policy.reports_injections
    is_guarded = policy.has_guard and bool(received.requests.positive)
    if extracted.is_pod and (is_named or is_guarded):
        verdict.injected_annotation = _injected_annotation(
            received.pod, names if is_named else (), is_guarded=is_guarded
        )
    if policy.reports_injections:
        verdict.reported |= dict.fromkeys(names if len(edits) <= MOST_EDITS else ())
        return PodContext(extracted, origin, policy, tolerates=False)
    if not edits:
        return context
    verdict.add_edits(edits, names)
    if len(edits) > MOST_EDITS:
        context = PodContext(extracted, origin, policy, tolerates=False)
    return context.lacking(edits) if context.expects_edits else context


def _injected_annotation(pod: Pod, injections: Sequence[str], *, is_guarded: bool) -> Extend | None:
    """The edit that adds these injections to the annotation; None if it names all of them.

    A guard leaves each pod with the annotation to the webhook, so that it is added without injections too. The API
    server may call the webhook a second time, for parts that other webhooks have added meanwhile. Raises
    MalformedError.
    """
    path = (*pod.metadata_path, "annotations")
    if INJECTED in pod.annotations:
        listed = text(pod.annotations, INJECTED, path).split(",")
        injections, is_guarded = [name for name in injections if name not in listed], False
    return Extend((*path, INJECTED), ",".join(injections)) if injections or is_guarded else None


def exemption(context: PodContext) -> str | None:
    """Why the pod is left alone; None for one that is checked."""
    pod, policy, extracted = context.pod, context.policy, context.extracted
    if policy.exemption is not None:
        return policy.exemption
    if policy.exempt_annotation is not None and carries(pod.annotations, policy.exempt_annotation):
        return "exempt: the pod has the annotation of exempt.annotation"
    # Any user can write what a mirror pod has, so that only a node is believed; offline what it has is enough.
    if (
        "kubernetes.io/config.mirror" in pod.annotations
        and extracted.is_pod
        and (context.origin.groups is None or "system:nodes" in context.origin.groups)
    ):
        return "exempt: the pod mirrors a static pod, which a kubelet runs already"
    for field, key in (("os", "name"), ("nodeSelector", "kubernetes.io/os")):
        if pod.spec.get(field) is not None and pod.members(field).get(key) == "windows":
            return "exempt: the pod runs on Windows"
    return None
