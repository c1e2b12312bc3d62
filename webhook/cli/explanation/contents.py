"""What the explanation of a check and of an injection consists of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from webhook.cli.examples import examples_of
from webhook.cli.examples.example import Example
from webhook.cli.examples.report import report_wrong
from webhook.cli.explanation.blocks import (
    Block,
    Defaults,
    Explanation,
    File,
    Items,
    Links,
    Paragraph,
    Report,
    Section,
    Setting,
    Term,
    Terms,
)
from webhook.cli.explanation.settings import setting
from webhook.policy.checks import CHECKS
from webhook.policy.checks.check import Check, Scope
from webhook.policy.description import parts
from webhook.policy.injections import ALL
from webhook.policy.injections.injection import Injection


def of_check(check: Check[Any]) -> Explanation:
    """Return the explanation of a check, with examples and the findings that they get."""
    texts = parts(check.description)
    severity = Setting(("severities", check.code), _SEVERITY, check.severity.label)
    return Explanation(
        f"{check.code}: {check.title}",
        f"Default severity: {check.severity.label}. Applies to {check.scope.value}.",
        (
            _section("Reads", texts["Reads"]),
            _section("Why", texts["Why"]),
            *_upstream(check.sources),
            *([_section("Exceptions", texts["Exceptions"])] if "Exceptions" in texts else []),
            *_examples(check),
            _section("Remedy", texts["Remedy"]),
            _settings([severity, *map(setting, check.settings)]),
        ),
    )


_SEVERITY = "One of deny, warn, audit and off. `namespaces` can set it for some namespaces."


def of_injection(injection: Injection) -> Explanation:
    """Return the explanation of an injection, with the reasons for which it is withheld."""
    texts = parts(injection.description)
    return Explanation(
        f"{injection.name}: {injection.title}",
        f"{_switch(injection).capitalize()} by default. Applies to pods on CREATE.",
        (
            _section("Adds", texts["Adds"]),
            _section("Why", texts["Why"]),
            *_upstream(injection.sources),
            _section("Not when", texts["Not when"]),
            *(Section("Example", tuple(_injected(example))) for example in examples_of(injection.name)),
            Section("Withheld where", (Paragraph(_REASONS), Items(injection.reasons))),
            _settings(list(map(setting, injection.settings))),
        ),
    )


_REASONS = "`gpushare-webhook mutate -v` and the debug log of the server name the reason:"


def _injected(example: Example) -> Iterator[Block]:
    yield Paragraph(f"{example.about} Other injections are left out here.")
    yield from _inputs(example)
    yield File("Pod", example.wrong)
    yield File("Pod with the injection", example.right)


def _inputs(example: Example) -> Iterator[Block]:
    if example.settings:
        yield File("Settings", example.settings)
    if example.facts:
        yield File("Facts", example.facts)


def overview() -> Explanation:
    """Return the list of all checks and injections."""
    checks = tuple(Term(check.code, check.severity.label, check.title) for check in CHECKS)
    injections = tuple(Term(injection.name, _switch(injection), injection.title) for injection in ALL)
    return Explanation(
        "Checks and injections",
        "With their default severities and switches. `gpushare-webhook explain CODE` explains one of them.",
        (Section("Checks", (Terms(checks),)), Section("Injections", (Terms(injections),))),
    )


def _switch(injection: Injection) -> str:
    return "on" if setting(f"injections.{injection.name}.enabled").default else "off"


def _section(title: str, paragraphs: Sequence[str]) -> Section:
    return Section(title, tuple(map(Paragraph, paragraphs)))


def _upstream(sources: tuple[str, ...]) -> Iterator[Section]:
    if sources:
        yield Section("Upstream", (Links(sources),))


def _settings(settings: list[Setting]) -> Section:
    return Section("Settings", (Paragraph(_VIEW), Defaults(tuple(settings))))


_VIEW = "The defaults, as a settings file has them. `gpushare-webhook config view` prints the values in effect."


def _examples(check: Check[Any]) -> Iterator[Section]:
    examples = examples_of(check.code)
    for number, example in enumerate(examples, 1):
        title = f"Example {number}" if len(examples) > 1 else "Example"
        yield Section(title, (Paragraph(example.about), *_example(check, example)))


def _example(check: Check[Any], example: Example) -> Iterator[Block]:
    yield from _inputs(example)
    yield File("Wrong", example.wrong)
    label = "Findings of `/validate`" if check.scope is Scope.EXPECTS_EDITS else "Findings"
    yield Report(label, tuple(_findings(check, example)))
    yield File("Right", example.right)


def _findings(check: Check[Any], example: Example) -> Iterator[tuple[str, ...]]:
    for result in report_wrong(check, example):
        for located in result.findings:
            severity = located.finding.severity.label
            yield f"{located.at(result.file)}: {severity} {located}", f"remedy: {located.finding.remedy}"
