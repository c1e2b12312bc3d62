"""`mutate`: objects with our edits. Data alone goes to standard output."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from webhook.cli.evaluation import Evaluated, evaluate
from webhook.cli.inputs import evaluator_for, manifest_options, manifests, read_standard_input_once
from webhook.cli.screen import paint, show, tell
from webhook.policy.verdict import MOST_EDITS, Severity
from webhook.report import Error, diff
from webhook.report.data import json_text

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
    read_standard_input_once(f=filenames, config=config, facts=facts)
    evaluator = evaluator_for(config, facts)
    allowed: list[Evaluated] = []
    code = 0
    for manifest in manifests(filenames, recursive):
        evaluated = manifest if isinstance(manifest, Error) else evaluate(manifest, evaluator, namespace)
        if isinstance(evaluated, Error):
            tell(str(evaluated))
            code = _UNREADABLE
        elif evaluated.is_denied:
            _refuse(evaluated)
            code = max(code, _DENIED)
        elif evaluated.has_too_many_edits:
            place = f"{evaluated.manifest.file}:{evaluated.manifest.line}"
            tell(f"{place}: {evaluated.subject} needs more than {MOST_EDITS} edits, and the webhook makes none")
            code = _UNREADABLE
        else:
            allowed.append(evaluated)
    _WRITERS[output](allowed)
    sys.exit(code)


def _refuse(evaluated: Evaluated) -> None:
    for located in evaluated.result().findings:
        finding = located.finding
        if finding.severity is Severity.DENY:
            tell(f"{located.at(evaluated.manifest.file)}: {evaluated.subject} is refused: {located}")
            tell(f"    remedy: {finding.remedy}")


def _edited(evaluated: Evaluated) -> Any:
    import jsonpatch

    # Its own copy of the object would keep shared what aliases share, and an edit of one would be one of all.
    return jsonpatch.apply_patch(evaluated.manifest.unshared(), evaluated.operations(), in_place=True)


def _write_json(allowed: list[Evaluated]) -> None:
    if len(allowed) == 1:
        show(json_text(_edited(allowed[0])))
    elif allowed:
        # One object at a time: aliases are written out, so that all together can take far more memory than they did.
        show('{\n  "apiVersion": "v1",\n  "kind": "List",\n  "items": [')
        for index, evaluated in enumerate(allowed):
            show(("," if index else "") + "\n    " + json_text(_edited(evaluated)).rstrip().replace("\n", "\n    "))
        show("\n  ]\n}\n")


def _write_patch(allowed: list[Evaluated]) -> None:
    if len(allowed) == 1:
        show(json_text(allowed[0].operations()))
    elif allowed:
        show(json_text([_owned_patch(evaluated) for evaluated in allowed]))


def _owned_patch(evaluated: Evaluated) -> dict[str, Any]:
    """A patch that says whose it is."""
    subject = evaluated.subject
    owner = {
        "apiVersion": subject.api_version,
        "kind": subject.kind,
        "namespace": subject.namespace,
        "name": subject.name,
    }
    return {
        "file": evaluated.manifest.file,
        "document": evaluated.manifest.document,
        "object": owner,
        "patch": evaluated.operations(),
    }


def _write_diff(allowed: list[Evaluated]) -> None:
    for evaluated in allowed:
        title = f"{evaluated.manifest.file} {evaluated.subject}"
        show(diff.write(title, evaluated.manifest.value, _edited(evaluated), paint(sys.stdout)))


_WRITERS: dict[str, Callable[[list[Evaluated]], None]] = {
    "json": _write_json,
    "patch": _write_patch,
    "diff": _write_diff,
}
