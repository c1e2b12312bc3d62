"""`mutate`: objects with our edits. Data alone goes to standard output."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from webhook.cli.inputs import engine, manifest_options, manifests, read_standard_input_once
from webhook.cli.judging import Judgement, judgement
from webhook.cli.screen import paint, show, tell
from webhook.diagnostics import Diagnostic
from webhook.policy.verdict import MOST_EDITS, Severity
from webhook.report import diff
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
    judges = engine(config, facts)
    allowed: list[Judgement] = []
    code = 0
    for manifest in manifests(filenames, recursive):
        judged = manifest if isinstance(manifest, Diagnostic) else judgement(manifest, judges, namespace)
        if isinstance(judged, Diagnostic):
            tell(str(judged))
            code = _UNREADABLE
        elif judged.is_denied:
            _refuse(judged)
            code = max(code, _DENIED)
        elif judged.has_too_many_edits:
            place = f"{judged.manifest.file}:{judged.manifest.line}"
            tell(f"{place}: {judged.subject} needs more than {MOST_EDITS} edits, and the webhook makes none")
            code = _UNREADABLE
        else:
            allowed.append(judged)
    _WRITERS[output](allowed)
    sys.exit(code)


def _refuse(judged: Judgement) -> None:
    for located in judged.result().findings:
        finding = located.finding
        if finding.severity is Severity.DENY:
            tell(f"{located.at(judged.manifest.file)}: {judged.subject} is refused: {located}")
            tell(f"    remedy: {finding.remedy}")


def _edited(judged: Judgement) -> Any:
    import jsonpatch

    # Its own copy of the object would keep shared what aliases share, and an edit of one would be one of all.
    return jsonpatch.apply_patch(judged.manifest.unshared(), judged.operations(), in_place=True)


def _write_json(allowed: list[Judgement]) -> None:
    if len(allowed) == 1:
        show(json_text(_edited(allowed[0])))
    elif allowed:
        # One object at a time: aliases are written out, so that all together can take far more memory than they did.
        show('{\n  "apiVersion": "v1",\n  "kind": "List",\n  "items": [')
        for index, judged in enumerate(allowed):
            show(("," if index else "") + "\n    " + json_text(_edited(judged)).rstrip().replace("\n", "\n    "))
        show("\n  ]\n}\n")


def _write_patch(allowed: list[Judgement]) -> None:
    if len(allowed) == 1:
        show(json_text(allowed[0].operations()))
    elif allowed:
        show(json_text([_owned_patch(judged) for judged in allowed]))


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
        show(diff.write(title, judged.manifest.value, _edited(judged), paint(sys.stdout)))


_WRITERS: dict[str, Callable[[list[Judgement]], None]] = {
    "json": _write_json,
    "patch": _write_patch,
    "diff": _write_diff,
}
