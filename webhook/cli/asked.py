"""What the commands about a live cluster share: options, the objects and facts that rights allow, and the output."""

from __future__ import annotations

import gc
import sys
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, TypeVar

import click

from webhook.cli.cluster_options import ALL_PARTS, Cluster, cluster_options
from webhook.cli.options import namespace_name, option_group, single_option
from webhook.cli.screen import draw, show, tell, width
from webhook.cluster.kubeconfig import location, namespace
from webhook.cluster.objects import Kind, LeftOut, LiveObjects
from webhook.diagnostics import Diagnostic, InputError
from webhook.live.answer import Answer, lines_of_left_out, report
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.settings import Settings
from webhook.report.data import json_text, yaml_text


class AnswerFormat(Enum):
    """A format of an answer. The value is the word that `-o` takes."""

    TEXT = "text"
    JSON = "json"
    YAML = "yaml"


class Asked(NamedTuple):
    """A cluster, and which of its objects a question is about. `namespace` is None for all namespaces."""

    cluster: Cluster
    namespace: str | None
    selector: str

    @property
    def query(self) -> dict[str, str]:
        """The selector as a parameter of a list."""
        return {"labelSelector": self.selector} if self.selector else {}


@dataclass(frozen=True, slots=True)
class World:
    """A cluster as far as the caller may read it. `settings` are those of the installation, or the defaults.

    `more` reads parts of the facts that a question turns out to need.
    """

    objects: LiveObjects
    facts: Facts
    settings: Settings
    more: Callable[[Collection[str]], Awaitable[Facts]]


def _asked(*, cluster: Cluster | None, namespace: str, all_namespaces: bool, selector: str) -> Asked:
    if namespace and all_namespaces:
        raise click.UsageError("-n and -A: one namespace, or all; leave out one")
    chosen = cluster or Cluster()
    return Asked(chosen, None if all_namespaces else namespace or _of_context(chosen), selector)


def _of_context(cluster: Cluster) -> str:
    """The namespace of the kubeconfig's context, as for kubectl."""
    return namespace(cluster.kubeconfig or location(), cluster.context) or "default"


asked_options = option_group(
    "asked",
    _asked,
    cluster_options,
    single_option(
        "-n",
        "--namespace",
        metavar="NAME",
        default="",
        callback=namespace_name,
        help="The namespace. Without it, that of the kubeconfig's context.",
    ),
    click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces."),
    single_option(
        "-l", "--selector", metavar="SELECTOR", default="", help="A label selector of the objects, as for kubectl."
    ),
)
"""Adds the options of a question about a cluster. The command gets them as `asked`."""


Found = TypeVar("Found", bound=Answer)


def answer(
    asked: Asked,
    output: AnswerFormat,
    question: Callable[[World], Awaitable[Found]],
    parts: Collection[str] = ALL_PARTS,
) -> Found:
    """Read a cluster, answer a question about it, and write the answer. Raises InputError.

    `parts`: those of the facts that are read before the question.
    """
    found, left_out = ask(asked, question, parts)
    write(found, left_out, output)
    return found


def ask(
    asked: Asked, question: Callable[[World], Awaitable[Found]], parts: Collection[str] = ALL_PARTS
) -> tuple[Found, list[LeftOut]]:
    """Read a cluster and answer a question about it. Return also what could not be read. Raises InputError."""
    from webhook.cli import live  # the client takes half a second to import

    async def answered() -> tuple[Found, list[LeftOut]]:
        async with live.opened(asked.cluster) as api:
            known = await live.read_allowed(api, asked.cluster, parts)
            objects = LiveObjects(api, _progress)
            objects.left_out += [LeftOut(part, why) for part, why in known.left_out.items()]

            async def more(parts: Collection[str]) -> Facts:
                facts, left_out = await live.read_parts(api, asked.cluster, known.settings, parts)
                objects.left_out += [LeftOut(part, why) for part, why in left_out.items()]
                return facts

            found = await question(World(objects, known.facts, known.settings, more))
            return found, objects.left_out

    gc.disable()  # decoded objects hold no cycles; to look for some, again and again, costs as much as all the reading
    try:
        found, left_out = live.run(asked.cluster, answered())
    finally:
        gc.enable()
    if sys.stderr.isatty():
        draw("")
    return found, left_out


def require_some(asked: Asked, objects: LiveObjects, kinds: Iterable[Kind]) -> None:
    """Check that at least one of these kinds could be read, or nothing would pass for no finding. Raises InputError."""
    if all(objects.lacks(kind, asked.namespace) for kind in kinds):
        raise InputError(Diagnostic(str(asked.cluster), 0, 0, f"{one.what}: {one.why}") for one in objects.left_out)


def write(found: Answer, left_out: list[LeftOut], output: AnswerFormat) -> None:
    """Write an answer to standard output, and in text what was left out to standard error."""
    if output is not AnswerFormat.TEXT:
        show((json_text if output is AnswerFormat.JSON else yaml_text)(report(found, left_out)))
        return
    columns = width() if sys.stdout.isatty() else None
    show("".join(f"{line}\n" for line in found.lines(columns)))
    tell_left_out(left_out)


def tell_left_out(left_out: list[LeftOut]) -> None:
    """Write what could not be read to standard error."""
    tell(*lines_of_left_out(left_out, width() if sys.stderr.isatty() else None))


def _progress(kind: Kind, count: int) -> None:
    if sys.stderr.isatty():
        draw(f"{count} {kind.plural} read")
