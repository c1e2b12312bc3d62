"""What the examples of a check give: the report that `check` makes of their manifests."""

from __future__ import annotations

from functools import partial
from typing import Any

from webhook.cli.evaluation import evaluate
from webhook.cli.examples.example import Example
from webhook.cli.inputs import parse
from webhook.diagnostics import Diagnostic, InputError
from webhook.manifests import read
from webhook.policy.checks.check import Check, Scope
from webhook.policy.context import Origin
from webhook.policy.evaluate import Evaluator
from webhook.report.model import Result


def report_wrong(check: Check[Any], example: Example) -> list[Result]:
    """The results for the wrong manifest. Raises InputError if a text of the example is not valid."""
    return _report(check, example, "wrong.yaml", example.wrong)


def report_right(check: Check[Any], example: Example) -> list[Result]:
    """The results for the right manifest. Raises InputError if a text of the example is not valid."""
    return _report(check, example, "right.yaml", example.right)


def _report(check: Check[Any], example: Example, file: str, manifest: str) -> list[Result]:
    evaluator = _evaluator(example)
    origin = partial(Origin, is_final_hook=True, groups=()) if check.scope is Scope.EXPECTS_EDITS else Origin
    results = []
    for one in read(file, manifest.encode()):
        evaluated = one if isinstance(one, Diagnostic) else evaluate(one, evaluator, "", origin)
        if isinstance(evaluated, Diagnostic):
            raise InputError([evaluated])
        results.append(evaluated.result())
    return results


def _evaluator(example: Example) -> Evaluator:
    from webhook.settings.load import load, load_facts

    settings = parse("settings.yaml", example.settings.encode(), load).settings
    return Evaluator.of(settings, parse("facts.yaml", example.facts.encode(), load_facts))
