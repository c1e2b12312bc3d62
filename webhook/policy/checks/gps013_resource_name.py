"""A resource name looks like a typo, or no node offers it."""

from __future__ import annotations

from webhook.policy.checks.check import about
from webhook.policy.context import PodContext
from webhook.policy.messages import printable
from webhook.policy.placement.node_classes import RENAMED
from webhook.policy.pods.gpu_resources import is_listed_by_nodes
from webhook.policy.pods.pod import Container
from webhook.policy.pods.quantity import NANO, parse_or_zero
from webhook.policy.verdict import Path, Severity, Violation, Violations

_STANDARD = frozenset({"cpu", "memory", "ephemeral-storage", "storage", "pods"})


def run(context: PodContext) -> Violations:
    """One violation per container and name."""
    for container in context.pod.containers:
        if container.limits or container.requests:
            yield from _of_container(context, container)
    nodes = context.placement.cluster
    configs = nodes.classes.configs
    for request in context.requests.positive if nodes.known or (configs.have_names and not nodes.refused) else ():
        name = request.resource.name
        # No known node and no declared group offers the resource.
        if not nodes.index.offers(name) and name not in nodes.dynamic and request.billionths >= NANO:
            if nodes.known:
                yield _not_offered(context, request.container, request.name_path, name)
            elif configs.lack(name):
                yield _renamed(request.container, request.name_path, name)


def _of_container(context: PodContext, container: Container) -> Violations:
    """The names that are not resources of the settings, where they look like a typo or no node offers them."""
    policy, nodes = context.policy, context.placement.cluster
    for field, amounts in (("limits", container.limits), ("requests", container.requests)):
        for name in amounts:
            if (
                name in _STANDARD
                or (field == "requests" and name in container.limits)
                or policy.resource(name) is not None
                or name in nodes.dynamic
                or name in nodes.index.offered
            ):
                continue
            path = container.name_path(field, name)
            meant = policy.known_names.meant_by(name)
            if meant is not None:
                yield Violation(
                    path, about(container, "asks for {}; did you mean {}?", name, meant), f"ask for {meant}"
                )
            elif nodes.known and is_listed_by_nodes(name) and parse_or_zero(amounts[name]) >= NANO:
                yield _not_offered(context, container, path, name)


def _not_offered(context: PodContext, container: Container, path: Path, name: str) -> Violation:
    from webhook.policy.placement.nearest import offered_instead  # most command lines know no nodes

    problem = about(container, "asks for {}, which no node offers", name)
    other = offered_instead(context.placement.cluster, name)
    remedy = "correct the name, or find out why the device plugin does not advertise it"
    return Violation(path, problem, remedy if other is None else f"ask for {printable(other)}, which nodes offer")


def _renamed(container: Container, path: Path, name: str) -> Violation:
    """A warning at most: nodes that nothing describes may have other configurations."""
    if name.endswith(RENAMED):
        base = name.removesuffix(RENAMED)
        problem = about(container, "asks for {}, which no configuration of the device plugin makes", name)
        remedy = f"ask for {printable(base)}, or set renameByDefault: true in the configuration"
    else:
        problem = about(container, "asks for {}, which the device plugin's configuration renames", name)
        whole = "give nodes with whole cards a configuration without renameByDefault"
        remedy = f"ask for {printable(name)}{RENAMED}, or {whole}"
    return Violation(path, problem, remedy, Severity.WARN)
