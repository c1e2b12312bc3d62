"""Options that choose a live cluster, and what is read of it."""

from __future__ import annotations

from typing import NamedTuple

import click

from webhook.cli.extras import require
from webhook.cli.options import file_option, formatted, option_group

PARTS = {
    "nodes": "nodes",
    "namespaces": "namespaces",
    "runtimeClasses": "runtime_classes",
    "deviceClasses": "device_classes",
    "devicePlugin": "device_plugin",
}
"""The parts of facts by their keys in the file, and their names in `Facts` and `FactsSettings`."""

DEFAULT_QUEUES = "defaultQueues"
"""The part that no settings switch on, since only commands that check manifests need it."""

ALL_PARTS = (*PARTS, DEFAULT_QUEUES)


class Cluster(NamedTuple):
    """A cluster of a kubeconfig, and what to read of it.

    Without a context, it is the cluster that this process runs in, or that of the current context. `installed_as` is
    NAMESPACE/NAME of the installation whose settings are used. `without` holds keys of the facts file.
    """

    context: str | None = None
    kubeconfig: str | None = None
    installed_as: str | None = None
    without: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"context {self.context}" if self.context is not None else "the cluster"


def _cluster(
    *, context: str | None, kubeconfig: str | None, installed_as: str | None, without: tuple[str, ...]
) -> Cluster | None:
    given = Cluster(context, kubeconfig, installed_as, frozenset(without))
    if given == Cluster():
        return None
    require("cluster", "an option of a live cluster (--context, --kubeconfig, --installed-as, --without)")
    return given


def _namespaced(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Return NAMESPACE/NAME. Raises BadParameter for other text."""
    if value is None:
        return None
    from webhook.policy.settings.formats import NAMESPACED_NAME  # most runs need no formats

    name: str = formatted(NAMESPACED_NAME)(context, option, value)
    return name


def _not_empty(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    """Return the name. Raises BadParameter if it is empty, as a variable that is not set leads to."""
    if value == "":
        raise click.BadParameter("the name is empty; leave out the option for the current context")
    return value


def _contexts(context: click.Context, _option: click.Parameter, incomplete: str) -> list[str]:
    """Return the contexts that a shell may complete; none where there is no kubeconfig that lists any."""
    from webhook.cluster.kubeconfig import KubeconfigError, contexts, location

    try:
        names = contexts(context.params.get("kubeconfig") or location())
    except KubeconfigError:
        return []
    return [name for name in names if name.startswith(incomplete) and name.isprintable()]


cluster_options = option_group(
    "cluster",
    _cluster,
    click.option(
        "--context",
        metavar="NAME",
        callback=_not_empty,
        shell_complete=_contexts,
        help="The context of the kubeconfig, which names a cluster.",
    ),
    file_option(
        "--kubeconfig",
        callback=_not_empty,
        help="The kubeconfig of the cluster. Without it KUBECONFIG applies.",
    ),
    click.option(
        "--installed-as",
        metavar="NAMESPACE/NAME",
        callback=_namespaced,
        help="The installation whose settings apply: read from its ConfigMap, together with the facts that they "
        "switch on. Without it, all facts are read.",
    ),
    click.option(
        "--without",
        metavar="PART",
        type=click.Choice(ALL_PARTS),
        multiple=True,
        help=f"A part of the facts that is not read and stays unknown: {', '.join(ALL_PARTS)}. Repeatable.",
    ),
)
"""Adds the options of a cluster. The command gets them as `cluster`, which is None if none of them is given."""
