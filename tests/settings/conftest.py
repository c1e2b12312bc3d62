"""Settings and facts as users give them: text, read by the product's own reader, so that lines are real."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from webhook.manifests import Manifest, read
from webhook.policy.placement.facts import Facts
from webhook.policy.verdict import Path as Steps
from webhook.settings.configuration import Configuration
from webhook.settings.load import load, load_facts


def _loaded(loader: Callable[..., Any], text: str) -> Any:
    documents = list(read("file.yaml", text.encode()))
    if not documents:
        return loader(None, lambda _: (1, 1), "file.yaml")
    (document,) = documents
    assert isinstance(document, Manifest), document

    def locate(path: Steps) -> tuple[int, int]:
        position = document.locate(path)
        return position.line, position.column

    return loader(document.value, locate, document.file)


@pytest.fixture
def load_text() -> Callable[[str], Configuration]:
    return lambda text: _loaded(load, text)


@pytest.fixture
def load_facts_text() -> Callable[[str], Facts]:
    return lambda text: _loaded(load_facts, text)


@pytest.fixture
def data() -> Path:
    return Path(__file__).parent / "data"
