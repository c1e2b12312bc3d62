"""The explanation of a check or an injection: the page of Markdown beside its module."""

from __future__ import annotations

import re
from importlib import resources
from typing import Any

from webhook.policy import checks, injections
from webhook.policy.checks.check import Check
from webhook.policy.injections.injection import Injection


def explanation(topic: Check[Any] | Injection) -> str:
    """Return the page. Raises FileNotFoundError if there is none."""
    if isinstance(topic, Check):
        file = resources.files(checks) / f"{topic.code.lower()}.md"
    else:
        file = resources.files(injections) / f"{topic.name}.md"
    return file.read_text(encoding="utf-8")


_LOCAL = re.compile(r"\[([^]]+)\]\(\.[^)]+\)")
"""A link within this repository, which leads nowhere from a terminal or a report."""


def portable(topic: Check[Any] | Injection) -> str:
    """Return the page with the text of each link into this repository in place of the link."""
    return _LOCAL.sub(r"\1", explanation(topic))
