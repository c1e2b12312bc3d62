"""`why`: the cause for which a pod or workload waits, fails, or runs without MPS."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Collection
from typing import NamedTuple

import click

from webhook.cli.extras import require
from webhook.cli.options import Cluster, complete_files, file_option, format_option, read_standard_input_once
from webhook.cli.output import notify
from webhook.cli.query import AnswerFormat, ClusterQuery, ClusterView, answer, query_options, write
from webhook.cluster.objects import Objects
from webhook.cluster.reading import Object
from webhook.diagnose.answer import unread
from webhook.diagnose.saved import SavedObjects
from webhook.diagnose.why.case import Why
from webhook.diagnose.why.decide import why
from webhook.diagnose.why.gather import KINDS, KindError, Question, kind_of, lookup, nearest, topmost
from webhook.diagnostics import Diagnostic, InputError
from webhook.dryrun.files import chosen_settings, read_facts, settings_file
from webhook.dryrun.inputs import Inputs, applied
from webhook.manifests import Manifest
from webhook.policy.messages import printable
from webhook.policy.placement.facts import Facts


class Named(NamedTuple):
    """The object of the question. `name` is empty where the files hold one object alone."""

    kind: str
    name: str


@click.command(name="why")
@click.argument("words", metavar="[[TYPE/]NAME]", nargs=-1)
@click.option(
    "-f",
    "--filename",
    "files",
    metavar="FILE|DIR|-",
    shell_complete=complete_files,
    multiple=True,
    help="Saved objects, such as the pod and its events, in place of a cluster. Repeatable.",
)
@file_option("--facts", help="The facts file, for saved objects.")
@click.option("--logs", is_flag=True, help="Also read the last lines of the container's log.")
@query_options
@format_option(AnswerFormat.TEXT, "The format.")
def command(
    words: tuple[str, ...],
    files: tuple[str, ...],
    facts: str | None,
    logs: bool,
    query: ClusterQuery,
    output: AnswerFormat,
) -> None:
    """Explain why a pod or workload waits, fails, or runs without MPS.

    The first line is the cause, and the line "do:" the command or edit that helps. TYPE is pod unless you name
    another: deployment, replicaset, statefulset, daemonset, job or cronjob, or a short name that kubectl knows.

    \b
    Examples:
      kubectl gpushare why train-0
      kubectl gpushare why deployment/inference -n team-a --logs
      gpushare-webhook why -f pod.yaml -f events.yaml --facts facts.yaml
    """
    named = _named(words)
    if query.selector:
        raise click.UsageError("-l: name one object instead")
    if files:
        _of_files(named, files, facts, query, output, logs=logs)
        return
    if facts is not None:
        raise click.UsageError("--facts belongs to saved objects; add -f FILE, or leave it out")
    if not named.name:
        raise click.UsageError("name a pod or workload, such as train-0 or deployment/inference")
    require("cluster", 'the command "why" without -f')

    async def question(view: ClusterView) -> Why:
        found = await _found(view.objects, named, query)
        asks = Question(view.objects, view.settings, view.more, wants_log=logs)
        return why(await asks.case(named.kind, query.namespace or "", found))

    answer(query, output, question, parts=())


def _named(words: tuple[str, ...]) -> Named:
    """The kind and name in TYPE/NAME, TYPE NAME or NAME. Raises UsageError."""
    if len(words) > 2 or (len(words) == 2 and "/" in "".join(words)):
        raise click.UsageError("name one object, such as train-0 or deployment/inference")
    kind, _, name = words[0].rpartition("/") if len(words) == 1 else ("", "", "")
    if len(words) == 2:
        kind, name = words
    try:
        return Named(kind_of(kind or "pod"), name)
    except KindError as error:
        raise click.UsageError(str(error)) from None


async def _found(objects: Objects, named: Named, query: ClusterQuery) -> Object:
    """The object in the cluster. Raises InputError."""
    kind, namespace = KINDS[named.kind], query.namespace
    found = await lookup(objects, kind, namespace, named.name)
    if found is not None:
        return found
    wanted = f"{kind.name} {printable(named.name)}"
    where = f"in namespace {namespace}" if namespace else "in any namespace"
    if namespace is None and objects.lacks(kind):
        raise _error(query.cluster, f"{wanted} cannot be found: {objects.left_out[-1].why}")
    if namespace is not None and objects.hides(kind, namespace, named.name):
        raise _error(query.cluster, f"{wanted} cannot be read: {objects.left_out[-1].why}")
    remedy = await nearest(objects, kind, namespace, named.name)
    raise _error(query.cluster, f"{wanted} does not exist {where}; {remedy or 'check the name, or name -n or -A'}")


def _error(where: object, message: str) -> InputError:
    return InputError([Diagnostic(str(where), 0, 0, message)])


def _of_files(
    named: Named, files: tuple[str, ...], facts: str | None, query: ClusterQuery, output: AnswerFormat, *, logs: bool
) -> None:
    """Answer the question from saved objects. Raises InputError and UsageError."""
    if query.cluster != Cluster():
        raise click.UsageError("-f answers from files, without a cluster; leave out the options of a cluster")
    if logs:
        raise click.UsageError("--logs reads from a cluster; leave out -f")
    read_standard_input_once(f=files, facts=facts)
    file = settings_file(None)
    settings, _ = chosen_settings(None if file is None else file.file, [])
    known = read_facts(facts, settings)
    saved: list[Object] = []
    errors: list[Diagnostic] = []
    for one in applied(Inputs(files, (), False, ""), notify):
        if isinstance(one, Manifest):
            saved.append(one.value)
        elif isinstance(one, Diagnostic):
            errors.append(one)
    if errors:
        raise InputError(errors)
    objects = SavedObjects(saved)
    try:
        kind, found = topmost(objects, named.kind, named.name, query.namespace)
    except LookupError as error:
        raise _error(printable(files[0]), str(error)) from None

    async def more(_parts: Collection[str]) -> Facts:
        return known

    question = Question(objects, settings, more)
    answered = why(asyncio.run(question.case(kind, "", found)))
    write(answered, objects.left_out, output)
    sys.exit(answered.exit_code(unread(objects.left_out)))
