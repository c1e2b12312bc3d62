"""`mutate`: objects with our edits. Data alone goes to standard output."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from webhook.cli.inputs import engine, manifest_options, manifests
from webhook.cli.judging import Judgement, judgement
from webhook.cli.screen import paint
from webhook.policy.verdict import Severity
from webhook.report import Error, diff

_DENIED = 1
_UNREADABLE = 2


@click.command(name="mutate")
@manifest_options
@click.option(
    "-o",
    "--output",
    type=click.Choice(["json", "patch", "diff"]),
    default="json",
    help="The edited objects, the JSON patches, or what changes.",
)
def command(
    filenames: tuple[str, ...], recursive: bool, namespace: str, config: str | None, facts: str | None, output: str
) -> None:
    """Show manifests with the edits that the webhook makes.

    In a workload the pod template is edited, as its pods would be. Refused objects are left out, and named on
    standard error. Several objects come as one List.

    \b
    Examples:
      gpushare-webhook mutate -f pod.yaml -o diff
      gpushare-webhook mutate -f pod.yaml | kubectl apply -f -
    """
    judges = engine(config, facts)
    allowed: list[Judgement] = []
    code = 0
    for manifest in manifests(filenames, recursive):
        judged = manifest if isinstance(manifest, Error) else judgement(manifest, judges, namespace)
        if isinstance(judged, Error):
            click.echo(str(judged), err=True)
            code = _UNREADABLE
        elif judged.is_denied:
            _refuse(judged)
            code = max(code, _DENIED)
        else:
            allowed.append(judged)
    _WRITERS[output](allowed)
    sys.exit(code)


def _refuse(judged: Judgement) -> None:
    for located in judged.result().findings:
        finding = located.finding
        if finding.severity is Severity.DENY:
            place = f"{judged.manifest.file}:{located.line}:{located.column}"
            click.echo(f"{place}: {judged.subject} is refused: {finding.code} {finding.message}", err=True)
            click.echo(f"    remedy: {finding.remedy}", err=True)


def _edited(judged: Judgement) -> Any:
    import jsonpatch

    return jsonpatch.apply_patch(judged.manifest.value, judged.operations())


def _write_json(allowed: list[Judgement]) -> None:
    objects = [_edited(judged) for judged in allowed]
    if len(objects) == 1:
        _echo_json(objects[0])
    elif objects:
        _echo_json({"apiVersion": "v1", "kind": "List", "items": objects})


def _write_patch(allowed: list[Judgement]) -> None:
    if len(allowed) == 1:
        _echo_json(allowed[0].operations())
    elif allowed:
        _echo_json([_owned_patch(judged) for judged in allowed])


def _owned_patch(judged: Judgement) -> dict[str, Any]:
    """A patch that says whose it is."""
    subject = judged.subject
    owner = {
        "apiVersion": subject.api_version,
        "kind": subject.kind,
        "namespace": subject.namespace,
        "name": subject.name,
    }
    return {
        "file": judged.manifest.file,
        "document": judged.manifest.document,
        "object": owner,
        "patch": judged.operations(),
    }


def _write_diff(allowed: list[Judgement]) -> None:
    for judged in allowed:
        title = f"{judged.manifest.file} {judged.subject}"
        click.echo(diff.write(title, judged.manifest.value, _edited(judged), paint(sys.stdout)), nl=False)


def _echo_json(value: object) -> None:
    import json

    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


_WRITERS: dict[str, Callable[[list[Judgement]], None]] = {
    "json": _write_json,
    "patch": _write_patch,
    "diff": _write_diff,
}
