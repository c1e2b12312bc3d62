"""Findings about the installation of this webhook: its configurations, certificates, replicas and settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Any, Final

from webhook.cluster.followed import MODE
from webhook.cluster.installations import HOOKS, POLICY_KIND, Installation, service_of
from webhook.cluster.reading import entries, part, word
from webhook.cluster.trusted import Part
from webhook.diagnose.doctor.seen import Seen
from webhook.diagnose.finding import MOST, Check, Finding, Remedy, about, advice, grouped, reference, several, unready
from webhook.guard import ALWAYS_EXCLUDED, SUFFIX
from webhook.policy.placement.selector import Expression
from webhook.policy.settings.settings import Exempt
from webhook.policy.snapshot import MODES
from webhook.report.lines import counted, first

_UPGRADE: Final = advice("upgrade the release with `helm upgrade`, which creates it")
_DESCRIBE: Final = "`kubectl -n {namespace} describe {object}`"
_LOGS: Final = "`kubectl -n {namespace} logs {object}`"
_RESTART: Final = "`kubectl -n {namespace} rollout restart {object}`"
_LEAST: Final = timedelta(days=1)
"""The least notice for a certificate that a user may have to renew. One that the webhook signs lives for a week."""


def _configurations(seen: Seen) -> Iterator[Finding]:
    if not seen.hooks and not seen.installations:
        cause = "no webhook configuration and no Deployment of it is there: pods are neither changed nor checked"
        remedy = "install its chart, or name the installation with --installed-as NAMESPACE/NAME"
        labelled = f"Deployments that have its label, and that nothing calls: {first(seen.unlinked)}"
        evidence = (labelled,) if seen.unlinked else ()
        yield Finding("webhook-not-installed", "warning", "gpushare-webhook", cause, evidence, remedy)
    there = {one.kind for one in seen.hooks}
    for kind, lost in zip(HOOKS, ("pods get no edits", "nothing is checked"), strict=True):
        if kind not in there and (there or any(one.deployment for one in seen.installations)):
            evidence = (f"found: {first(list(map(str, seen.hooks))) or 'no configuration'}",)
            cause = f"that of the webhook does not exist: {lost}"
            yield Finding("configuration-missing", "error", kind, cause, evidence, _UPGRADE)


def _bundles(seen: Seen) -> Iterator[Finding]:
    for hook in seen.hooks:
        called = (one for one in hook.entries if service_of(one))
        bare = [word(one, "name") for one in called if not word(one, "clientConfig", "caBundle")]
        if bare:
            cause = "it has no caBundle, so that the API server cannot verify the webhook and its calls fail"
            remedy = advice(
                f"{_RESTART}, which writes it, and during which calls fail while no replica is ready; with "
                "cert-manager, look at the annotation cert-manager.io/inject-ca-from",
                seen.installations[0],
            )
            evidence = (f"entries: {first(bare)}",)
            yield Finding("ca-bundle-empty", "error", str(hook), cause, evidence, remedy)


def _certificates(seen: Seen) -> Iterator[Finding]:
    """Certificates that replicas serve and that end soon, as they report."""
    for one in seen.installations:
        ends = min((each.ends for each in one.replicas if each.ends is not None), default=None)
        if ends is None or ends - seen.now > _LEAST:
            continue
        is_over = ends <= seen.now
        cause = "its certificate ended, and the API server rejects it" if is_over else "its certificate was not renewed"
        remedy = advice(
            "`kubectl -n {namespace} logs {object}`; with cert-manager: `kubectl describe certificate -A`", one
        )
        evidence = f"its end: {ends:%Y-%m-%dT%H:%M:%SZ}"
        yield about(one, "certificate", "error" if is_over else "warning", cause, remedy, evidence)


def _endpoints(seen: Seen) -> Iterator[Finding]:
    for one in seen.installations:
        if one.endpoints != 0:
            continue
        cause = "its Service has no ready endpoint: calls fail, and entries with failurePolicy Fail block GPU pods"
        state, template = f"{one.ready} of {one.wanted} replicas are ready", _DESCRIBE
        if one.deployment is None:
            state, template = "no Deployment", "install the release again, or delete the configurations that call it"
        elif one.wanted == 0:
            template = "`kubectl -n {namespace} scale --replicas=2 {object}`"
        elif one.ready:
            template = "compare the selector with the labels: `kubectl -n {namespace} describe {service}`"
        remedy = advice(template, one, service=[reference("Service", one.name)])
        yield about(one, "no-endpoints", "error", cause, remedy, state, *_details(one)[:MOST])


def _details(one: Installation) -> list[str]:
    return [f"pod {each.name}: {each.detail}" for each in one.replicas if not each.is_ready and each.detail]


def _replicas(seen: Seen) -> Iterator[Finding]:
    """Replicas that are not ready, on nodes that are dead or cordoned, or unlike the others."""
    for one in seen.installations:
        if one.deployment and one.ready < one.wanted and one.endpoints != 0:
            cause = f"{one.ready} of {counted(one.wanted, 'replica')} ready"
            details = _details(one) or ["no pod says why: look at the events of its ReplicaSets"]
            remedy = advice(f"{_LOGS}, and describe its pods", one)
            yield unready(one, "replicas-not-ready", "warning", cause, remedy, details)
        there = [each for each in one.replicas if each.node in seen.closed]
        if there:
            cause = f"{len(there)} of {counted(len(one.replicas), 'replica')} on a node that takes no new pods"
            evidence = [f"pod {each.name} on node {each.node}: {seen.closed[each.node]}" for each in there[:MOST]]
            remedy = advice(f"{_RESTART}, which starts them on other nodes", one)
            yield about(one, "replicas-on-closed-nodes", "warning", cause, remedy, *evidence)
        images = Counter(each.image for each in one.replicas)
        digests = Counter(each.settings for each in one.replicas if each.settings is not None)
        for values, noun, template in (
            (images, "images", "`kubectl -n {namespace} rollout status {object}`"),
            (digests, "settings", f"{_LOGS}: look for reload rejected"),
        ):
            if len(values) > 1:
                cause = f"its replicas run {len(values)} different {noun}, so that they may answer a review differently"
                evidence = [f"{count} x {value}" for value, count in sorted(values.items())]
                yield about(one, "version-skew", "warning", cause, advice(template, one), *evidence)


def _mode(seen: Seen) -> Iterator[Finding]:
    for one in seen.installations:
        account = f"{one.name}{SUFFIX}"
        if one.exists.get(f"ServiceAccount {account}") is False:
            cause = "the object with the cap on its mode does not exist: nothing caps the mode, and its guard is off"
            yield about(one, "mode-account-missing", "warning", cause, _UPGRADE, f"not found: ServiceAccount {account}")
        if one.mode is not None and one.mode != MODES[-1]:
            lift = "`kubectl -n {namespace} annotate serviceaccount {serviceaccount} gpushare-webhook/mode-`"
            cause = f'an annotation caps its mode to "{one.mode}", which is no mode and is ignored'
            if one.mode in MODES:
                cause = f"an annotation caps its mode to {one.mode}, whatever the settings say"
            evidence = f"ServiceAccount {one}{SUFFIX}: {MODE}: {one.mode}"
            yield about(one, "mode-capped", "warning", cause, advice(lift, one, serviceaccount=account), evidence)


def _guard(seen: Seen) -> Iterator[Finding]:
    for one in seen.installations:
        if lost := [each for each, exists in one.exists.items() if each.startswith(POLICY_KIND) and not exists]:
            cause = "its guard does not exist: while no replica answers, pods over the limits may be admitted"
            yield about(one, "guard-missing", "warning", cause, _UPGRADE, *(f"not found: {each}" for each in lost))


def _left_over(seen: Seen) -> Iterator[Finding]:
    for one in seen.installations:
        for place, former in grouped((each.namespace or one.namespace, each) for each in one.renders.former).items():
            cause = "objects are not of its last manifests: no apply deletes them, or the last one did not finish"
            remedy = advice(
                "if the last apply did not finish, repeat it, or else: `kubectl -n {namespace} delete {objects}`",
                namespace=place,
                objects=[reference(each.kind, each.name) for each in former],
            )
            evidence = tuple(f"{each.kind} {each.name}, created {each.created}" for each in former)
            yield Finding("left-over", "warning", str(one), cause, evidence, remedy, (place,))


def _invalid(seen: Seen) -> Iterator[Finding]:
    for one in seen.installations:
        if one.problem:
            cause = "its settings are refused: replicas keep the last valid ones, and one that starts now fails"
            yield about(one, "settings-invalid", "error", cause, _edit(one), one.problem)


# Namespaces that the webhook sees.


def _namespaces(seen: Seen) -> Iterator[Finding]:
    """Namespaces with GPU pods that no entry of a kind of configuration selects, or those of several releases do."""
    pods = grouped((one.pod.namespace, one.pod) for one in seen.pods if one.asks)
    exempt = {*ALWAYS_EXCLUDED, *seen.settings.exempt.namespaces, *(one.namespace for one in seen.installations)}
    exempt |= {one.namespace for one in seen.programs}
    spaces = [one for one in seen.facts.namespaces or () if one.name in pods and one.name not in exempt]
    found = []
    for kind in HOOKS:
        selectors = [
            (service_of(one), part(one, "namespaceSelector"))
            for hook in seen.hooks
            if hook.kind == kind
            for one in hook.entries
            if any({"pods", "*", "*/*"}.intersection(rule.get("resources") or ()) for rule in entries(one, "rules"))
        ]
        for space in spaces if selectors else ():
            labels = {"kubernetes.io/metadata.name": space.name, **space.labels}
            seeing = {service for service, selector in selectors if _selects(selector, labels)}
            found.append((tuple(sorted(seeing)), space.name))
    for releases, spaces_of in grouped(found).items():
        names = list(dict.fromkeys(spaces_of))
        evidence = [f"{counted(len(pods[name]), 'GPU pod')} such as {pods[name][0]}" for name in names[:MOST]]
        subject = f"namespace {several(names)}"
        if not releases:
            cause = "the namespaceSelector of the webhook skips namespaces whose pods ask for GPUs"
            remedy = (
                "change webhooks.namespaceSelector in the values of the chart, or remove the label "
                "gpushare-webhook/ignore from the namespace; list it in exempt.namespaces if that is meant"
            )
            yield Finding("selector-skips", "warning", subject, cause, tuple(evidence), remedy)
        elif len(releases) > 1:
            cause = f"{len(releases)} releases of the webhook see its pods, each with settings of its own"
            remedy = "uninstall one, or give each of them namespaces of its own by webhooks.namespaceSelector"
            evidence.append(f"releases: {first(releases)}")
            yield Finding("releases-overlap", "warning", subject, cause, tuple(evidence), remedy)


def _selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a label selector selects an object (kubernetes apimachinery pkg/labels)."""
    wanted = [Expression(key, "In", [value]) for key, value in part(selector, "matchLabels").items()]
    listed = entries(selector, "matchExpressions")
    wanted += [Expression(word(one, "key"), word(one, "operator"), one.get("values") or ()) for one in listed]
    return all(one.constraint.holds(labels.get(one.key)) for one in wanted)


# Settings that do nothing.


def _settings(seen: Seen) -> Iterator[Finding]:
    """Namespaces that settings name and that do not exist. Nodes that do not exist may be added later."""
    spaces = [one.name for one in seen.facts.namespaces or ()]
    for one, settings in [(one, one.settings) for one in seen.installations if one.settings is not None]:
        own = {*settings.exempt.namespaces}.difference(Exempt().namespaces, spaces)
        useless = [f"exempt.namespaces: there is no namespace {name}" for name in sorted(own)]
        for index, rule in enumerate(settings.namespaces):
            lost = (name for name in rule.names if not any(fnmatchcase(each, name) for each in spaces))
            useless += [f"namespaces[{index}].names: there is no namespace {name}" for name in lost]
        if useless:
            cause = "settings name namespaces that do not exist, and do nothing"
            yield about(one, "setting-without-effect", "warning", cause, _edit(one), *useless[:MOST])


def _edit(one: Installation) -> Remedy:
    edit = "correct the settings in the values of the chart, or: `kubectl -n {namespace} edit configmap {configmap}`"
    return advice(edit, one, configmap=one.name)


_NEEDED: Final[tuple[Part, ...]] = ("webhook configurations", "installation")

CALLS = (
    Check("endpoints of the webhook", ("installation", "endpoints"), _endpoints),
    Check("certificates", (*_NEEDED, "certificates"), _certificates),
    Check("caBundle", ("webhook configurations",), _bundles),
    Check("webhook configurations", _NEEDED, _configurations),
    Check("validity of the settings", ("installation",), _invalid),
)
"""What the API server needs to call the webhook."""

CHECKS = (
    Check("replicas of the webhook", ("installation", "nodes"), _replicas),
    Check("namespaces that the webhook sees", ("webhook configurations", "namespaces", "pods"), _namespaces),
    Check("cap on the mode", ("installation", "accounts"), _mode),
    Check("guard in the API server", ("installation", "settings", "guard", "policies"), _guard),
    Check(
        "objects of former renders apart from Secrets and ConfigMaps", ("installation", "former renders"), _left_over
    ),
    Check("settings of the webhook", ("installation", "settings", "namespaces"), _settings),
)
