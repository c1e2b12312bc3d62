"""The pages of checks and injections: their index, their examples, and the parts of them that follow from the code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import Any

from webhook.diagnostics import Diagnostic, InputError, Unread
from webhook.dryrun.check import checked_objects
from webhook.dryrun.evaluation import Evaluated, evaluate
from webhook.dryrun.files import parse
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.manifests import Manifest, Source
from webhook.policy import checks, injections
from webhook.policy.checks import CHECKS
from webhook.policy.checks.check import Check, Scope
from webhook.policy.context import RequestContext
from webhook.policy.injections import ALL
from webhook.policy.injections.injection import Injection
from webhook.report.explanation import explanation
from webhook.report.model import Result
from webhook.settings.configuration import Configuration, view
from webhook.settings.load import load, load_facts

_WIDTH = 76
"""Columns of findings and comments: a terminal of 80 columns shows them with an indent of 4."""

_PLACE = "../../webhook/policy"


def index() -> str:
    """Return the page that lists all checks."""
    rows = "".join(
        f"- [{check.code}]({_PLACE}/checks/{check.code.lower()}.md) (**{check.severity.label}**): {check.title}\n"
        for check in CHECKS
    )
    return _prose("checks.md").replace("{checks}\n", rows)


def injections_index() -> str:
    """Return the page that lists all injections."""
    rows = "".join(f"- [{one.name}]({_PLACE}/injections/{one.name}.md) ({_switch(one)}): {one.title}\n" for one in ALL)
    return _prose("injections.md").replace("{injections}\n", rows)


def _prose(name: str) -> str:
    return (Path(__file__).parent / "prose" / name).read_text(encoding="utf-8")


def pages() -> dict[Path, str]:
    """Return the page of each check and injection, by its file."""
    folders = Path(checks.__path__[0]), Path(injections.__path__[0])
    return {
        **{folders[0] / f"{check.code.lower()}.md": _of_check(check) for check in CHECKS},
        **{folders[1] / f"{injection.name}.md": _of_injection(injection) for injection in ALL},
    }


def _of_check(check: Check[Any]) -> str:
    page = explanation(check)
    findings = ("".join(_findings(report(check, example, "wrong"))) for example in examples(page))
    page = re.sub(_FINDINGS, lambda found: found[1] + next(findings), page, flags=re.MULTILINE | re.DOTALL)
    severity = f"[{check.severity.label}](../../../docs/reference/checks.md#severities)"
    pods = check.scope.value.replace("shows MPS", "[shows MPS](../../../docs/reference/checks.md#terms)")
    return _with_title(page, f"{check.code}: {check.title}", f"Default severity: {severity}. Applies to {pods}.")


_FINDINGS = r"(^Findings[^\n]*:\n\n```text\n).*?(?=^```$)"


def _of_injection(injection: Injection) -> str:
    page = _with_title(
        explanation(injection),
        f"{injection.name}: {injection.title}",
        f"{_switch(injection).capitalize()} by default. Applies to pods on CREATE.",
    )
    reasons = "".join(f"- {reason}\n" for reason in injection.reasons)
    return re.sub(r"(?<=\n\n)(?:- .+\n)+(?=\n## Settings)", lambda _: reasons, page)


def _switch(injection: Injection) -> str:
    return "on" if view(Configuration())["injections"][injection.name]["enabled"] else "off"


def _with_title(page: str, title: str, lead: str) -> str:
    """Return a page with its title, its first sentence, and the link to the settings that it names."""
    _, _, body = page.partition("\n\n## ")
    body = body.replace("\nThese settings change", "\nThese [settings](../../../docs/reference/settings.md) change")
    first_lines = "\n".join(wrap(lead, 120))
    return f"# {title}\n\n{first_lines}\n\n## {body}"


@dataclass(frozen=True, slots=True)
class Example:
    """An example of a page. Of a check, `wrong` has findings of this check alone, and `right` has none.

    Of an injection, `right` is the pod with the edits of this injection and of those that it depends on. `settings` and
    `facts` are the content of these files, empty where the defaults suffice.
    """

    about: str
    wrong: str
    right: str
    settings: str = ""
    facts: str = ""


def examples(page: str) -> Sequence[Example]:
    """Return the examples of a page. Raises KeyError if one lacks a manifest."""
    found = []
    for part in re.findall(r"^## Example[ 0-9]*\n\n(.*?)(?=^## )", page, re.MULTILINE | re.DOTALL):
        files = {_FIELDS[label]: text for label, text in re.findall(_BLOCK, part, re.MULTILINE | re.DOTALL)}
        found.append(Example(" ".join(part.partition("\n\n")[0].split()), **files))
    return found


_BLOCK = r"^([A-Z][^\n]+):\n\n```yaml\n(.*?)^```$"
_FIELDS = {
    "Settings": "settings",
    "Facts": "facts",
    "Wrong": "wrong",
    "Right": "right",
    "Pod": "wrong",
    "Pod with the injection": "right",
}


def report(check: Check[Any], example: Example, which: str) -> list[Result]:
    """Return the results for the wrong or the right manifest. Raises InputError if a text of the example is invalid."""
    settings = parse("settings.yaml", example.settings.encode(), load).settings
    evaluator = OfflineEvaluator.of(settings, parse("facts.yaml", example.facts.encode(), load_facts))
    origin = (
        partial(RequestContext, is_final_hook=True, groups=()) if check.scope is Scope.EXPECTS_EDITS else RequestContext
    )
    results = []
    for one in checked_objects(Source(f"{which}.yaml", getattr(example, which).encode())):
        if isinstance(one, Unread):
            continue  # values of a chart, of which only configurations are checked
        evaluated = evaluate(one, evaluator, "", origin) if isinstance(one, Manifest) else one
        if not isinstance(evaluated, Evaluated):
            raise InputError([evaluated] if isinstance(evaluated, Diagnostic) else [])
        results.append(evaluated.result())
    return results


def _findings(results: Sequence[Result]) -> Iterator[str]:
    for result in results:
        for located in result.findings:
            first = f"{located.at(result.file)}: {located.severity.label} {located}"
            yield _wrapped(first, "")
            yield _wrapped(f"remedy: {located.remedy}", "  ")


def _wrapped(text: str, before: str) -> str:
    lines = wrap(
        text, _WIDTH, initial_indent=before, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(lines) + "\n"
