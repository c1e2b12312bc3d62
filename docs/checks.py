"""The pages of the checks: an index, and a page for each code with examples and the findings that they give."""

from __future__ import annotations

import re
from collections.abc import Iterator

from docs.descriptions import paragraphs
from webhook.cli.examples import examples_of
from webhook.cli.examples.example import Example
from webhook.cli.examples.report import report_wrong
from webhook.policy.checks import CHECKS
from webhook.policy.checks.check import Check, Scope
from webhook.report.check.text import TextWriter
from webhook.report.writer import written

INDEX = """\
# Checks

Generated from the code by `make docs`. Each code has a page with the reason for the check, a wrong and a right
manifest, and the remedy. `gpushare-webhook explain CODE` prints that page.

| code | default severity | applies to | reports |
|---|---|---|---|
"""

TERMS = """
## Severities

A finding of severity `deny` rejects the object, `warn` returns a warning to the user, `audit` writes an audit
annotation and counts the finding, and `off` skips the check. `severities` sets them by code, an entry of `namespaces`
sets them for some namespaces, and `mode` caps all of them ([settings](settings.md)). A check that cannot be certain
reports at most a warning.

## Terms

- **MPS** (Multi-Process Service) is NVIDIA's software that lets several processes use one GPU at the same time. On each
  node that shares its GPUs this way, a daemon serves the processes; they are its clients and reach it through the
  *pipe directory*.
- **Replica**: one of the equal shares in which a node offers a GPU. A pod requests it like a whole GPU, as
  `nvidia.com/gpu: 1`, or under a name of its own, `nvidia.com/gpu.shared: 1`, where the administrator has configured
  that. MPS limits each process of the container to this share of the card's memory and threads.
- **Time-slicing** is the other way in which nodes share a GPU: the processes take turns, and nothing limits their
  memory.
- **Whole card**: a GPU of a node that does not share its GPUs.
- **Device plugin**: the program that offers the GPUs of a node to Kubernetes and gives them to containers.
- **Facts**: what the webhook knows about the cluster, such as its nodes and their labels ([facts](facts.md)).
"""


def index() -> str:
    """Return the page that lists all checks."""
    rows = [
        f"| [{check.code}](checks/{check.code}.md) | {check.severity.label} | {check.scope.value} | {check.title} |\n"
        for check in CHECKS
    ]
    return INDEX + "".join(rows) + TERMS


def pages() -> dict[str, str]:
    """Return the page of each check, by file name."""
    return {f"checks/{check.code}.md": "\n".join(_page(check)) for check in CHECKS}


def _page(check: Check) -> Iterator[str]:
    yield f"# {check.code}: {check.title}\n"
    yield "Generated from the code by `make docs`. [All checks](../checks.md) explains the terms.\n"
    yield f"- **Default severity:** `{check.severity.label}`; [settings](../settings.md) change it."
    yield f"- **Applies to:** {check.scope.value}."
    text, _, settings = check.description.partition("\nSettings: ")
    yield from paragraphs(text)
    if settings:
        yield f"- **Settings:** {', '.join(_linked(key) for key in re.findall('`([^`]+)`', settings))}."
    yield ""
    examples = examples_of(check.code)
    for number, example in enumerate(examples, 1):
        yield f"## Example {number}\n" if len(examples) > 1 else "## Example\n"
        yield from _example(check, example)


def _linked(key: str) -> str:
    """A key of the settings file, as a link to its section."""
    section, inner, _ = key.partition(".")
    return f"[`{key}`](../settings.md#{section.lower() if inner else 'top-level'})"


def _example(check: Check, example: Example) -> Iterator[str]:
    yield f"{example.about}\n"
    if example.settings:
        yield f"With these [settings](../settings.md):\n\n```yaml\n{example.settings}```\n"
    if example.facts:
        yield f"With these [facts](../facts.md):\n\n```yaml\n{example.facts}```\n"
    yield f"Wrong:\n\n```yaml\n{example.wrong}```\n"
    reporter = "`/validate` reports" if check.scope is Scope.EXPECTS_EDITS else "`gpushare-webhook check` reports"
    yield f"{reporter}:\n\n```text\n{written(TextWriter(), report_wrong(check, example))}```\n"
    yield f"Right:\n\n```yaml\n{example.right}```\n"
