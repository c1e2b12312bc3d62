"""The pages of checks and injections: their sections, sentences, sources and settings."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from webhook.policy.checks import CHECKS
from webhook.policy.checks.check import Check
from webhook.policy.injections import ALL
from webhook.policy.injections.injection import Injection
from webhook.policy.settings.settings import Settings
from webhook.report.explanation import explanation
from webhook.settings.schema_tree import Object, object_of

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
    section = object_of(Settings).field("injections")
    assert section is not None
    assert isinstance(section.node, Object)
    found = section.node.field(injection.name)
    assert found is not None
    assert isinstance(found.node, Object)
    _, _, block = explanation(injection).rpartition("```yaml\n")
    named = list(yaml.safe_load(block.removesuffix("```\n"))["injections"][injection.name])
    assert named == found.node.keys
    assert named[0] == "enabled"
