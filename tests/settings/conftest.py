"""Settings and facts as users give them: text, read by the product's own reader, so that lines are real."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from webhook.dryrun.files import parse
from webhook.policy.placement.facts import Facts
from webhook.settings.configuration import Configuration
from webhook.settings.load import load, load_facts


@pytest.fixture
def load_text() -> Callable[[str], Configuration]:
    return lambda text: parse("file.yaml", text.encode(), load)


@pytest.fixture
def load_facts_text() -> Callable[[str], Facts]:
    return lambda text: parse("file.yaml", text.encode(), load_facts)
