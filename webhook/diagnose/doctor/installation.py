"""Findings about the installation of this webhook: its configurations, certificates, replicas and settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Any, Final

from webhook.cluster.installations import HOOKS, POLICY_KIND, Installation, service_of
from webhook.cluster.reading import entries, part, word
from webhook.cluster.stack import Role
from webhook.cluster.trusted import Part
from webhook.diagnose.doctor.finding import Check, Finding, edit_map, grouped, in_namespace, listed, several
from webhook.diagnose.doctor.seen import Seen
from webhook.diagnose.doctor.workloads import asking
from webhook.diagnose.remedy import Advice, Remedy
from webhook.diagnose.words import named, reference
from webhook.guard.objects import ALWAYS_EXCLUDED, SUFFIX
from webhook.policy.commands import Command
from webhook.policy.placement.selector import Constraint
from webhook.policy.settings.elements import LabelSelector
from webhook.policy.settings.settings import Exempt, PlacementSettings, Settings
from webhook.policy.snapshot import MODES
from webhook.report.lines import counted

_NAME_LABEL: Final = "kubernetes.io/metadata.name"


def of_deployment(one: Installation, *words: str) -> Command:
    """A command about the Deployment of an installation."""
    return in_namespace(one.namespace, *words, reference("Deployment", one.name))


_UPGRADE: Final = Remedy("upgrade the release with ", Command("helm", "upgrade"), ", which creates it")


def _absent(seen: Seen) -> Iterator[Finding]:
    if not seen.hooks and not seen.installations:
        cause = "no webhook configuration and no Deployment of it is there: pods are neither changed nor checked"
        remedy = "install its chart, or name the installation with --installed-as NAMESPACE/NAME"
        labelled = seen.unlinked
        evidence = (f"Deployments that have its label, and that nothing calls: {listed(labelled)}",) if labelled else ()
        yield Finding("webhook-not-installed", "warning", "gpushare-webhook", cause, evidence, remedy)


def _configurations(seen: Seen) -> Iterator[Finding]:
    there = {one.kind for one in seen.hooks}
    names = [*map(str, seen.installations), *(one.name for one in seen.hooks)]
    for kind, lost in zip(HOOKS, ("pods get no edits", "nothing is checked"), strict=True):
        if kind not in there and (there or any(one.deployment for one in seen.installations)):
            evidence = (f"found: {listed(list(map(str, seen.hooks))) or 'no configuration'}",)
            cause = f"its {kind} does not exist: {lost}"
            yield Finding("configuration-missing", "error", names[0], cause, evidence, _UPGRADE)


def _bundles(seen: Seen) -> Iterator[Finding]:
    for hook in seen.hooks:
        without = (one for one in hook.entries if not part(one, "clientConfig").get("caBundle"))
        bare = [word(one, "name") for one in without if service_of(one)]
        if bare:
            cause = "it has no caBundle, so that the API server cannot verify the webhook and its calls fail"
            evidence = (f"entries: {listed(bare)}",)
            remedy = Remedy(
                next((of_deployment(one, "rollout", "restart") for one in seen.installations), "restart the webhook"),
                ", which writes it, and during which calls fail while no replica is ready; with cert-manager, look at "
                "the annotation cert-manager.io/inject-ca-from",
            )
            yield Finding("ca-bundle-empty", "error", str(hook), cause, evidence, remedy)


def _ending(seen: Seen, *, is_served: bool) -> Iterator[Finding]:
    """Certificates that replicas serve, or those of authorities, that end soon."""
    for one in seen.expiries:
        left = one.ends - seen.now
        if one.is_served is not is_served or left > one.notice:
            continue
        is_over = left <= timedelta(0)
        cause = f"it ended on {one.ends:%Y-%m-%d}" if is_over else f"it ends on {one.ends:%Y-%m-%d %H:%M} UTC"
        cause += ", and the API server rejects the webhook" if is_over else ", and was not renewed"
        logs: Advice = next((of_deployment(each, "logs") for each in seen.installations), "look at the webhook's log")
        remedy = Remedy(logs, "; with cert-manager: ", Command("kubectl", "describe", "certificate", "-A"))
        evidence = (f"its end: {one.ends:%Y-%m-%dT%H:%M:%SZ}",)
        yield Finding("certificate", "error" if is_over else "warning", one.where, cause, evidence, remedy)


def _endpoints(seen: Seen) -> Iterator[Finding]:
    for one in seen.installations:
        if one.endpoints == 0:
            called = [str(hook) for hook in seen.hooks if hook.calls(one)]
            cause = "its Service has no ready endpoint: calls fail, and entries with failurePolicy Fail block GPU pods"
            state = "no Deployment" if one.deployment is None else f"{one.ready} of {one.wanted} replicas are ready"
            evidence = (state, f"called by: {listed(called) or 'no configuration'}", *_details(one))
            remedy: Advice = of_deployment(one, "describe")
            if one.deployment is None:
                remedy = "install the release again, or delete the configurations that call it"
            elif one.wanted == 0:
                remedy = in_namespace(one.namespace, "scale", reference("Deployment", one.name), "--replicas=2")
            elif one.ready:
                describe = in_namespace(one.namespace, "describe", reference("Service", one.name))
                remedy = Remedy("compare the selector with the labels: ", describe)
            yield Finding("no-endpoints", "error", str(one), cause, evidence, remedy)


def _details(one: Installation) -> tuple[str, ...]:
    return tuple(f"pod {each.name}: {each.detail}" for each in one.replicas if not each.is_ready and each.detail)[:3]


def _replicas(seen: Seen) -> Iterator[Finding]:
    for one in seen.installations:
        if one.deployment and one.ready < one.wanted and one.endpoints != 0:
            cause = f"{one.ready} of {counted(one.wanted, 'replica')} ready"
            evidence = _details(one) or ("no pod says why: look at the events of its ReplicaSets",)
            remedy = Remedy(of_deployment(one, "logs"), ", and describe its pods")
            yield Finding("replicas-not-ready", "warning", str(one), cause, evidence, remedy)


def _places(seen: Seen) -> Iterator[Finding]:
    """Replicas on nodes that are dead or cordoned."""
    for one in seen.installations:
        there = [each for each in one.replicas if each.node in seen.closed]
        if there:
            cause = f"{len(there)} of {counted(len(one.replicas), 'replica')} on a node that takes no new pods"
            evidence = tuple(f"pod {each.name} on node {each.node}: {seen.closed[each.node]}" for each in there[:5])
            remedy = Remedy(of_deployment(one, "rollout", "restart"), ", which starts them on other nodes")
            yield Finding("replicas-on-closed-nodes", "warning", str(one), cause, evidence, remedy)


def _skew(seen: Seen) -> Iterator[Finding]:
    for one in seen.installations:
        images = Counter(each.image for each in one.replicas)
        digests = Counter(each.settings for each in one.replicas if each.settings is not None)
        for values, noun, command in (
            (images, "images", of_deployment(one, "rollout", "status")),
            (digests, "settings", Remedy(of_deployment(one, "logs"), ": look for reload rejected")),
        ):
            if len(values) > 1:
                cause = f"its replicas run {len(values)} different {noun}, so that they may answer a review differently"
                evidence = tuple(f"{count} x {value}" for value, count in sorted(values.items()))
                yield Finding("version-skew", "warning", str(one), cause, evidence, command)


def _mode(seen: Seen) -> Iterator[Finding]:
    for one in seen.installations:
        account = f"ServiceAccount {one.name}{SUFFIX}"
        if one.exists.get(account) is False:
            cause = "the object with the cap on its mode does not exist: nothing caps the mode, and its guard is off"
            yield Finding("mode-account-missing", "warning", str(one), cause, (f"not found: {account}",), _UPGRADE)
        if one.mode is None or one.mode == MODES[-1]:
            continue
        name = named("serviceaccount", f"{one.name}{SUFFIX}")
        remedy = in_namespace(one.namespace, "annotate", "serviceaccount", name, "gpushare-webhook/mode-")
        if one.mode in MODES:
            cause = f"an annotation caps its mode to {one.mode}, whatever the settings say"
        else:
            cause = f'an annotation caps its mode to "{one.mode}", which is no mode and is ignored'
        evidence = (f"ServiceAccount {one}{SUFFIX}: gpushare-webhook/mode: {one.mode}",)
        yield Finding("mode-capped", "warning", str(one), cause, evidence, remedy)


def _guard(seen: Seen) -> Iterator[Finding]:
    for one in seen.installations:
        if parts := [each for each, exists in one.exists.items() if not exists and each.startswith(POLICY_KIND)]:
            cause = "its guard does not exist: while no replica answers, pods over the limits may be admitted"
            evidence = tuple(f"not found: {each}" for each in parts)
            yield Finding("guard-missing", "warning", str(one), cause, evidence, _UPGRADE)


def _former_guard(seen: Seen) -> Iterator[Finding]:
    """Guards that settings no longer have: `kubectl apply` of rendered manifests deletes nothing."""
    for one in seen.installations:
        parts = [each for each, exists in one.exists.items() if exists and each.startswith(POLICY_KIND)]
        if parts and one.settings is not None and not one.settings.guard.enabled:
            cause = "its settings have no guard, and that of former ones is still there: it denies what it denied then"
            names = [reference(*each.split(" ", 1)) for each in reversed(parts)]  # the binding first
            remedy = Command("kubectl", "delete", *names)
            yield Finding(
                "guard-left-over", "warning", str(one), cause, tuple(f"found: {each}" for each in parts), remedy
            )


def _invalid(seen: Seen) -> Iterator[Finding]:
    for one in seen.installations:
        if one.problem:
            cause = "its settings are refused: replicas keep the last valid ones, and one that starts now fails"
            remedy = Remedy("correct them in the values of the chart, or: ", edit_map(one.namespace, one.name))
            yield Finding("settings-invalid", "error", f"settings of {one}", cause, (one.problem,), remedy)


def _selectors(seen: Seen) -> Iterator[Finding]:
    """Namespaces with GPU pods that no entry of a kind of configuration selects, though no setting exempts them."""
    labels = {one.name: {_NAME_LABEL: one.name, **one.labels} for one in seen.facts.namespaces or ()}
    exempt = {*ALWAYS_EXCLUDED, *(one.namespace for one in seen.installations)}
    exempt |= {one.namespace for one in seen.programs} | set(seen.settings.exempt.namespaces)
    skipped: dict[str, list[str]] = {}
    found = asking(seen)
    for kind in HOOKS:
        hooks = (one for hook in seen.hooks if hook.kind == kind for one in hook.entries)
        selectors = [part(one, "namespaceSelector") for one in hooks if _sees_pods(one)]
        for name in sorted(found.keys() & labels.keys() - exempt) if selectors else ():
            if not any(_selects(one, labels[name]) for one in selectors):
                skipped.setdefault(name, []).append(kind)
    if skipped:
        cause = "the namespaceSelector of the webhook skips namespaces whose pods ask for GPUs"
        evidence = tuple(
            f"{' and '.join(those)}: {counted(len(found[name]), 'GPU pod')} such as {found[name][0].pod}"
            for name, those in list(skipped.items())[:5]
        )
        remedy = (
            "change webhooks.namespaceSelector in the values of the chart, or remove the label "
            "gpushare-webhook/ignore from the namespace; list it in exempt.namespaces if that is meant"
        )
        yield Finding("selector-skips", "warning", f"namespace {several(list(skipped))}", cause, evidence, remedy)


def _overlap(seen: Seen) -> Iterator[Finding]:
    """Releases of the webhook that see pods of the same namespaces."""
    spaces = [{_NAME_LABEL: one.name, **one.labels} for one in seen.facts.namespaces or ()]
    for kind in HOOKS:
        selectors = grouped(
            (service_of(one), part(one, "namespaceSelector"))
            for hook in seen.hooks
            if hook.kind == kind
            for one in hook.entries
            if service_of(one) and _sees_pods(one) and not one.get("objectSelector")
        )
        both = [
            labels[_NAME_LABEL]
            for labels in (spaces if len(selectors) > 1 else ())
            if sum(any(_selects(one, labels) for one in those) for those in selectors.values()) > 1
        ]
        if both:
            cause = "several releases of the webhook see the same pods, each with settings of its own"
            evidence = (f"{kind} calls: {listed(list(selectors))}", f"namespaces of both: {listed(both)}")
            remedy = "uninstall one; or give each of them namespaces of its own by webhooks.namespaceSelector"
            yield Finding("releases-overlap", "warning", several(list(selectors)), cause, evidence, remedy)


def _sees_pods(entry: Mapping[str, Any]) -> bool:
    return any({"pods", "*", "*/*"}.intersection(one.get("resources") or ()) for one in entries(entry, "rules"))


def _selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a label selector selects an object (kubernetes apimachinery pkg/labels)."""
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    for one in selector.get("matchExpressions") or ():
        constraint = Constraint()
        constraint.add(one.get("operator", ""), one.get("values") or ())
        if not constraint.holds(labels.get(one.get("key", ""))):
            return False
    return True


# Settings that do nothing.


def _settings(seen: Seen) -> Iterator[Finding]:
    for one in seen.installations:
        useless = [] if one.settings is None else [*_of_namespaces(seen, one.settings), *_of_nodes(seen, one.settings)]
        if useless:
            cause = "settings name objects that do not exist, and do nothing"
            remedy = Remedy("correct them in the values of the chart, or: ", edit_map(one.namespace, one.name))
            evidence = tuple(useless[:10])
            yield Finding("setting-without-effect", "warning", f"settings of {one}", cause, evidence, remedy)


def _of_namespaces(seen: Seen, settings: Settings) -> Iterator[str]:
    """What settings say about namespaces, where namespaces are known."""
    if seen.facts.namespaces is None:
        return
    names = [one.name for one in seen.facts.namespaces]
    for index, rule in enumerate(settings.namespaces):
        for pattern in rule.names:
            if not any(fnmatchcase(name, pattern) for name in names):
                yield f"namespaces[{index}].names: no namespace is called {pattern}"
        if rule.selector is not None:
            yield from _unselected(seen, f"namespaces[{index}].selector", rule.selector, settings)
    if settings.sharing.namespaces is not None:
        yield from _unselected(seen, "sharing.namespaces", settings.sharing.namespaces, settings)
    for name in settings.exempt.namespaces:
        if name not in names and name not in Exempt().namespaces:
            yield f"exempt.namespaces: there is no namespace {name}"


def _unselected(seen: Seen, field: str, selector: LabelSelector, settings: Settings) -> Iterator[str]:
    if not settings.facts.namespaces:
        yield f"{field}: facts.namespaces is false, and the webhook knows no labels of namespaces"
    elif not any(selector.selects(one.labels) for one in seen.facts.namespaces or ()):
        labels = ", ".join(f"{key}={value}" for key, value in selector.match_labels.items())
        yield f"{field}: no namespace has the labels {labels}"


def _of_nodes(seen: Seen, settings: Settings) -> Iterator[str]:
    """What settings say about nodes and the device plugin."""
    source = settings.facts.device_plugin
    for where in () if source is None else source.config_maps:
        if f"ConfigMap {where}" in seen.absent:
            yield f"facts.devicePlugin.configMaps: there is no ConfigMap {where}"
    # Without any plugin, `plugin-missing` says so.
    if source is not None and seen.of(Role.PLUGIN) and f"DaemonSet {source.daemon_set}" in seen.absent:
        yield f"facts.devicePlugin.daemonSet: there is no DaemonSet {source.daemon_set}"
    if "nodes" in seen.lacking or not seen.nodes:
        return
    usual = {one.name for one in Settings().resources}
    offered = {name for node in seen.nodes for name in (*node.offered, *node.capacity)}
    for resource in settings.resources:
        if resource.name not in offered and resource.name not in usual:
            yield f"resources: no node offers {resource.name}"
    marks = settings.placement.mps_labels
    is_marked = any(node.labels.get(key) == value for node in seen.nodes for key, value in marks.items())
    if marks and marks != PlacementSettings().mps_labels and not is_marked:
        yield "placement.mpsLabels: no node has one of the labels " + ", ".join(f"{k}={v}" for k, v in marks.items())
    keys = {taint.key for node in seen.nodes for taint in node.taints}
    for pattern in settings.injections.tolerations.from_nodes:
        if not any(fnmatchcase(key, pattern) for key in keys):
            yield f"injections.tolerations.fromNodes: no GPU node has a taint {pattern}"


_NEEDED: Final[tuple[Part, ...]] = ("webhook configurations", "installation")

CALLS = (
    Check("endpoints of the webhook", ("installation", "endpoints"), _endpoints),
    Check(
        "certificate authorities",
        ("webhook configurations", "certificates"),
        lambda seen: _ending(seen, is_served=False),
    ),
    Check(
        "certificates", (*_NEEDED, "certificates", "served certificates"), lambda seen: _ending(seen, is_served=True)
    ),
    Check("caBundle", ("webhook configurations",), _bundles),
    Check("webhook configurations", _NEEDED, _configurations),
    Check("validity of the settings", ("installation",), _invalid),
)
"""What the API server needs to call the webhook."""

CHECKS = (
    Check("replicas of the webhook", ("installation",), _replicas),
    Check("namespaces that the webhook sees", ("webhook configurations", "namespaces", "pods"), _selectors),
    Check("releases of the webhook", ("webhook configurations", "namespaces"), _overlap),
    Check("nodes of the webhook", ("installation", "nodes"), _places),
    Check("cap on the mode", ("installation",), _mode),
    Check("guard in the API server", ("installation", "settings", "guard"), _guard),
    Check("guard of former settings", ("installation", "settings"), _former_guard),
    Check("versions of the webhook", ("installation",), _skew),
    Check("settings of the webhook", ("installation", "settings"), _settings),
    Check("installation of the webhook", _NEEDED, _absent),
)
