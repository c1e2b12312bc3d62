"""Questions about a live cluster: their options, the objects and facts that rights allow, and the answer."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Collection, Iterable
from enum import Enum
from typing import NamedTuple, TypeVar

import click

from webhook.cli.options import ALL_PARTS, Cluster, cluster_options, namespace_option, option_group, single_option
from webhook.cli.output import show, tell, width
from webhook.cluster.kubeconfig import location
from webhook.cluster.kubeconfig import namespace as namespace_of_context
from webhook.cluster.objects import Kind, LeftOut, LiveObjects
from webhook.diagnose.answer import Answer, lines_of_left_out, report, unread
from webhook.diagnostics import Diagnostic, InputError
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.settings import Settings
from webhook.report.data import json_text


class AnswerFormat(Enum):
    """A format of an answer. The value is the word that `-o` takes."""

    TEXT = "text"
    JSON = "json"


class ClusterQuery(NamedTuple):
    """A cluster, and which of its objects a question is about. `namespace` is None for all namespaces."""

    cluster: Cluster
    namespace: str | None
    selector: str

    @property
    def parameters(self) -> dict[str, str]:
        """The selector as the parameters of a list."""
        return {"labelSelector": self.selector} if self.selector else {}


class ClusterView(NamedTuple):
    """A cluster as far as the caller may read it. `settings` are those of the installation, or the defaults.

    `more` reads parts of the facts that a question turns out to need.
    """

    objects: LiveObjects
    facts: Facts
    settings: Settings
    more: Callable[[Collection[str]], Awaitable[Facts]]


def _query(*, cluster: Cluster | None, namespace: str, all_namespaces: bool, selector: str) -> ClusterQuery:
    if namespace and all_namespaces:
        raise click.UsageError("-n and -A: one namespace, or all; leave out one")
    chosen = cluster or Cluster()
    if not namespace and not all_namespaces:  # as for kubectl
        namespace = namespace_of_context(chosen.kubeconfig or location(), chosen.context) or "default"
    return ClusterQuery(chosen, None if all_namespaces else namespace, selector)


query_options = option_group(
    "query",
    _query,
    cluster_options,
    namespace_option("The namespace. Without it, that of the kubeconfig's context."),
    click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces."),
    single_option(
        "-l", "--selector", metavar="SELECTOR", default="", help="A label selector of the objects, as for kubectl."
    ),
)
"""Adds the options of a question about a cluster. The command gets them as `query`."""


Found = TypeVar("Found", bound=Answer)


def answer(
    query: ClusterQuery,
    output: AnswerFormat,
    question: Callable[[ClusterView], Awaitable[Found]],
    parts: Collection[str] = ALL_PARTS,
) -> None:
    """Read a cluster, answer a question about it, write the answer, and exit with its code. Raises InputError.

    `parts`: those of the facts that are read before the question.
    """
    from webhook.cli import live  # the client takes half a second to import

    async def answered() -> tuple[Found, list[LeftOut]]:
        async with live.opened(query.cluster) as api:
            known = await live.read_allowed(api, query.cluster, parts)
            objects = LiveObjects(api)
            objects.left_out += known.left_out

            async def more(parts: Collection[str]) -> Facts:
                facts, left_out = await live.read_parts(api, query.cluster, known.settings, parts)
                objects.left_out += left_out
                return facts

            found = await question(ClusterView(objects, known.facts, known.settings, more))
            return found, objects.left_out

    found, left_out = live.run(query.cluster, answered())
    write(found, left_out, output)
    sys.exit(found.exit_code(unread(left_out)))


def require_some(query: ClusterQuery, objects: LiveObjects, kinds: Iterable[Kind]) -> None:
    """Check that at least one of these kinds could be read, or nothing would pass for no finding. Raises InputError."""
    if all(objects.lacks(kind, query.namespace) for kind in kinds):
        raise InputError(Diagnostic(str(query.cluster), 0, 0, f"{part.what}: {part.why}") for part in objects.left_out)


def write(found: Answer, left_out: list[LeftOut], output: AnswerFormat) -> None:
    """Write an answer to standard output, and in text what was left out to standard error."""
    if output is AnswerFormat.JSON:
        show(json_text(report(found, left_out)))
        return
    columns = width() if sys.stdout.isatty() else None
    show("".join(f"{line}\n" for line in found.lines(columns, unread(left_out))))
    tell(*lines_of_left_out(left_out, width() if sys.stderr.isatty() else None))
