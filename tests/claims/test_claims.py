"""The claims about other projects: where each is used, and that its pattern says something."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from claims.data import Claim, changed, load, numbers

ROOT = Path(__file__).parents[2]
SOURCES, CLAIMS = load()
PAGES = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "webhook/policy").rglob("*.md")]
SAYS_CHECKED = re.compile(r"\*verified\*|checked against", re.IGNORECASE)
WITHOUT_SOURCE = {"docs/how-to/platforms/aks.md"}
"""Pages that name a source of their own, which was read once and has no pattern."""


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.says)
def test_file_that_uses_a_claim_contains_its_words(claim: Claim) -> None:
    assert claim.used
    for file, word in claim.used:
        assert word in " ".join((ROOT / file).read_text(encoding="utf-8").split()), (file, word)


def test_claims_are_many_and_each_says_something_else() -> None:
    assert len(CLAIMS) >= 58
    assert len({claim.says for claim in CLAIMS}) == len(CLAIMS)
    assert {one.registry for one in SOURCES.values()} >= {"go", "pypi", ""}
    assert all(claim.release for claim in CLAIMS)


def test_page_that_says_verified_has_a_claim() -> None:
    used = {file for claim in CLAIMS for file, _ in claim.used}
    saying = {page.relative_to(ROOT).as_posix() for page in PAGES if SAYS_CHECKED.search(page.read_text("utf-8"))}
    assert len(saying) > 5
    assert saying - used == WITHOUT_SOURCE


@settings(max_examples=1, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_pattern_does_not_match_another_key(data: st.DataObject) -> None:
    for claim in CLAIMS:
        text = data.draw(st.from_regex(claim.pattern))
        found = claim.pattern.search(text)
        assert found is not None
        assert claim.pattern.search(changed(found)) is None, claim.says


def test_missing_pattern_and_pattern_without_a_key_are_problems() -> None:
    claim = next(one for one in CLAIMS if one.says.startswith("MPS serves 48"))
    shows = "return 48\n\t}\n\treturn 16\n"
    assert claim.problem(shows) == ""
    assert claim.problem(shows.replace("48", "60")) == "the pattern is not in the file"


def test_versions_are_ordered_by_their_numbers() -> None:
    assert sorted(["v0.9.1", "v0.20.0", "v0.19.3"], key=numbers) == ["v0.9.1", "v0.19.3", "v0.20.0"]
