"""Completion of the codes of checks and the names of injections, and repair of mistyped codes."""

from __future__ import annotations

import re

import click
from click.shell_completion import CompletionItem


def complete_topics(_context: click.Context, _option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a code, or the name of an injection, in any case."""
    from webhook.policy.injections import ALL

    names = {**_titles(), **{injection.name: injection.title for injection in ALL}}
    return _beginning(names, incomplete, "")


def complete_codes(_context: click.Context, _option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the last code of a list with commas. A code that the list already has is not offered again."""
    before, comma, last = incomplete.rpartition(",")
    given = before.upper().split(",")
    return _beginning({code: title for code, title in _titles().items() if code not in given}, last, before + comma)


def _titles() -> dict[str, str]:
    # Completing other words does not need the checks, which take long to import.
    from webhook.policy.checks import CHECKS

    return {check.code: check.title for check in CHECKS}


def _beginning(titles: dict[str, str], start: str, before: str) -> list[CompletionItem]:
    known = titles.items()
    return [
        CompletionItem(before + name, help=title) for name, title in known if name.lower().startswith(start.lower())
    ]


def padded(code: str) -> str:
    """Return a code with three digits, such as GPS001 for `GPS1`, `GPS-01` or `1`; other text as it is."""
    found = re.fullmatch("(?:gps)?[-_ ]?0*([0-9]{1,3})", code, re.IGNORECASE | re.ASCII)
    return f"GPS{found[1]:0>3}" if found else code
