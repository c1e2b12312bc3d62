"""The page about other webhooks and queues names tests that exist and run."""

from __future__ import annotations

from tests.project.repository import ROOT
from tests.project.test_threat_model import named, problems

PAGE = (ROOT / "docs/explanation/beside-others.md").read_text()


def test_page_names_tests_that_run() -> None:
    assert problems(PAGE) == []
    assert len(named(PAGE)) > 10
