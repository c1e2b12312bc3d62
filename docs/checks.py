"""The pages of the checks: an index, and for each code the page that `gpushare-webhook explain` prints."""

from __future__ import annotations

from typing import Any

from webhook.cli.explanation import markdown
from webhook.cli.explanation.contents import of_check
from webhook.policy.checks import CHECKS
from webhook.policy.checks.check import Check

INDEX = """\
# Checks

Generated from the code by `make docs`. Each code has a page with the reason for the check, a wrong and a right
manifest, the remedy, and the settings. `gpushare-webhook explain CODE` prints that page.

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

NOTE = """\
Generated from the code by `make docs`. [All checks](../checks.md) explains the terms, [settings](../settings.md) lists
all keys.
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
    return {f"checks/{check.code}.md": _page(check) for check in CHECKS}


def _page(check: Check[Any]) -> str:
    explanation = of_check(check)
    return f"# {explanation.title}\n\n{NOTE}\n{markdown.body(explanation, 2)}"
