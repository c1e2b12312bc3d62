"""The explanation of a check or an injection: the page of Markdown beside its module."""

from __future__ import annotations

from collections.abc import Mapping
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


def sections(page: str) -> Mapping[str, tuple[str, ...]]:
    """Return the paragraphs below each heading of a page, each as one line."""
    _, *parts = page.split("\n## ")
    texts = (part.strip().partition("\n") for part in parts)
    return {title: tuple(" ".join(text.split()) for text in body.strip().split("\n\n")) for title, _, body in texts}
