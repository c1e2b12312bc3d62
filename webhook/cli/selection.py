"""The options `--select` and `--ignore`, and the codes of checks: completion, and repair of mistyped ones."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem

from webhook.cli.options import option_group
from webhook.policy.checks import CHECKS
from webhook.policy.injections import ALL
from webhook.policy.messages import printable
from webhook.report.model import EVERYTHING, Selection

_TITLES = {check.code: check.title for check in CHECKS}
_CODES = tuple(_TITLES)
_LIST = "`gpushare-webhook explain` lists them"


def _selection(select: frozenset[str], ignore: frozenset[str]) -> Selection:
    options = tuple(option for option, codes in (("--select", select), ("--ignore", ignore)) if codes)
    if not options:
        return EVERYTHING
    remaining = (select or frozenset(_CODES)) - ignore
    if not remaining:
        raise click.UsageError(f"{' and '.join(options)}: no check remains; name other codes")
    left_out = tuple(code for code in _CODES if code not in remaining)
    return Selection(left_out, tuple(sorted(remaining)), options)


def _codes(_context: click.Context, _option: click.Parameter, lists: tuple[str, ...]) -> frozenset[str]:
    """Return the codes of lists with commas. Raises BadParameter for a list without one, or for all unknown codes."""
    given: list[str] = []
    for codes in lists:
        parts = [code for part in codes.split(",") if (code := part.strip())]
        if not parts:
            raise click.BadParameter(f'"{printable(codes)}" names no check; name one, such as GPS001')
        given += parts
    unknown = [code for code in dict.fromkeys(given) if code.upper() not in _CODES]
    if unknown:
        raise click.BadParameter("; ".join(map(_unknown, unknown)))
    return frozenset(code.upper() for code in given)


def _unknown(code: str) -> str:
    from webhook.policy.settings.formats import did_you_mean  # only for what is wrong

    return (
        f'there is no check "{printable(code)}"; {(not is_code(code) and did_you_mean(padded(code), _CODES)) or _LIST}'
    )


def complete_topics(_context: click.Context, _option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a code, or the name of an injection, in any case."""
    names = _TITLES | {injection.name: injection.title for injection in ALL}
    return _beginning(names, incomplete, "")


def complete_codes(_context: click.Context, _option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the last code of a list with commas. A code that the list already has is not offered again."""
    before, comma, last = incomplete.rpartition(",")
    given = before.upper().split(",")
    return _beginning({code: title for code, title in _TITLES.items() if code not in given}, last, before + comma)


def _beginning(titles: dict[str, str], start: str, before: str) -> list[CompletionItem]:
    fitting = (name for name in titles if name.lower().startswith(start.lower()))
    return [CompletionItem(before + name, help=titles[name]) for name in fitting]


def is_code(text: str) -> bool:
    """Return whether a text has the form of a code: a wrong one is no mistyped other code."""
    return re.fullmatch("GPS[0-9]{3}", text, re.IGNORECASE | re.ASCII) is not None


def padded(code: str) -> str:
    """Return a code with three digits, such as GPS001 for `GPS1`, `GPS-01` or `1`; other text as it is."""
    found = re.fullmatch("(?:gps)?[-_ ]?0*([0-9]{1,3})", code, re.IGNORECASE | re.ASCII)
    return f"GPS{found[1]:0>3}" if found else code


def _checks_option(name: str, description: str) -> Callable[..., Any]:
    return click.option(
        name, metavar="CODES", multiple=True, callback=_codes, shell_complete=complete_codes, help=description
    )


selection_options = option_group(
    "selection",
    _selection,
    _checks_option(
        "--select", "Make only these checks, such as GPS001,GPS002. Errors are always reported. Repeatable."
    ),
    _checks_option("--ignore", "Do not make these checks, such as GPS009,GPS015. Applies after --select. Repeatable."),
)
"""Adds the options that name checks. The command gets them as `selection`. Raises UsageError if none remains."""
