"""The pages of checks and injections: their sections, sentences, sources and settings."""

from __future__ import annotations

import re
from typing import Any

import pytest

from docs.settings import settings_page
from webhook.policy.checks import CHECKS
from webhook.policy.checks.check import Check
from webhook.policy.injections import ALL
from webhook.policy.injections.injection import Injection
from webhook.policy.settings.settings import Settings
from webhook.report.explanation import explanation
from webhook.settings.members import at, members

every_one = pytest.mark.parametrize("one", [*CHECKS, *ALL], ids=lambda one: getattr(one, "code", None) or one.name)


@every_one
def test_page_has_all_sections(one: Check[Any] | Injection) -> None:
    before, after = ("Reads", "Remedy Settings") if isinstance(one, Check) else ("Adds", "Withheld where Settings")
    between = "(Exceptions )?(Example )+" if isinstance(one, Check) else "Not when Example "
    titles = re.findall(r"^## (\w+(?: \w*[a-z])*)", explanation(one), re.MULTILINE)
    assert re.fullmatch(f"{before} Why (Upstream )?{between}{after}", " ".join(titles))
    assert re.fullmatch(r"\S.{10,90}[^.]", one.title)


@every_one
def test_paragraphs_are_sentences(one: Check[Any] | Injection) -> None:
    prose = re.sub(
        r"^[^\n]+:\n\n```.*?^```$|^```.*?^```$|^- [^\n]*$", "", explanation(one), flags=re.MULTILINE | re.DOTALL
    )
    paragraphs = [text for text in re.split("\n\n+", prose.strip()) if not text.startswith("#")]
    assert [text for text in paragraphs if not re.fullmatch(r"\S.*[.:]", text, re.DOTALL)] == []


@every_one
def test_sources_are_upstream(one: Check[Any] | Injection) -> None:
    _, _, after = explanation(one).partition("\n## Upstream\n\n")
    sources = after.partition("\n\n")[0].splitlines()
    hosts = r"(github\.com/[\w-]+/[\w-]+/(issues|blob/HEAD)|docs\.nvidia\.com|kubernetes\.io)"
    assert [source for source in sources if not re.fullmatch(rf"- \[[^]]+\]\(https://{hosts}/\S+\)", source)] == []
    assert len(sources) == len(set(sources))


@pytest.mark.parametrize("injection", ALL, ids=lambda injection: injection.name)
def test_page_names_all_settings_of_the_injection(injection: Injection) -> None:
    keys = list(members(at(Settings, ("injections", injection.name))))
    _, _, section_of_page = explanation(injection).rpartition("\n## Settings\n")
    named = re.findall(rf"`injections\.{injection.name}\.(\w+)`", section_of_page)
    assert named == keys
    assert named[0] == "enabled"


@every_one
def test_settings_are_in_the_reference(one: Check[Any] | Injection) -> None:
    """The page links to the reference, which names each of them."""
    reference = settings_page()
    _, _, section = explanation(one).rpartition("\n## Settings\n")
    assert "(../../../docs/reference/settings.md)" in section
    names = re.findall(r"`([^`]+)`", section)
    assert names
    assert [name for name in names if f"**`{name}`**" not in reference] == []
