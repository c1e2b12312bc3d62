"""The survey as text: a table for each subject, then places to look at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple
from itertools import chain

from survey.counts import Objects, Survey, Tally
from webhook.diagnostics import LINE
from webhook.policy.messages import printable

_OBJECTS = ("objects", "name a GPU", "allowed", "warned", "denied", "skipped", "silent")


def write(survey: Survey) -> str:
    """Return the whole survey."""
    sections = [_repositories(survey), _kinds(survey), _findings(survey), _reasons(survey), _unchecked(survey)]
    return "\n".join(chain(*sections, _errors(survey)))


def _repositories(survey: Survey) -> Iterator[str]:
    checked = {name: one for name, one in survey.repositories.items() if not one.failure}
    rows = [[name, *_numbers(one.objects), str(one.errors), str(one.assumed)] for name, one in checked.items()]
    if len(rows) > 1:
        every = sum((one.objects for one in checked.values()), Objects())
        sums = [
            str(sum(numbers)) for numbers in zip(*((one.errors, one.assumed) for one in checked.values()), strict=True)
        ]
        rows.append([f"all ({len(rows)})", *_numbers(every), *sums])
    yield from _table("Repositories", ("repository", *_OBJECTS, "errors", "assumed"), rows)
    failed = [f"{name}: {one.failure}" for name, one in survey.repositories.items() if one.failure]
    if failed:
        yield "Repositories without a report:\n"
        yield from _listed(failed)


def _kinds(survey: Survey) -> Iterator[str]:
    """Kinds that are checked or whose objects name a GPU; the others, of which there may be hundreds, in one row."""
    ranked = sorted(survey.kinds.items(), key=lambda item: (-item[1].gpu, -item[1].objects, item[0]))
    shown = [(key, one) for key, one in ranked if one.gpu or one.skipped < one.objects]
    rows = [[_kind(*key), *_numbers(one)] for key, one in shown]
    others = [one for _, one in ranked if not one.gpu and one.skipped == one.objects]
    if others:
        rows.append([f"other kinds ({len(others)})", *_numbers(sum(others, Objects()))])
    yield from _table("Kinds", ("kind", *_OBJECTS), rows)


def _findings(survey: Survey) -> Iterator[str]:
    found = sorted(survey.findings.items())
    rows = [[*key, str(one.count), str(one.objects)] for key, one in found]
    yield from _table("Findings", ("code", "severity", "findings", "objects"), rows)
    yield from _samples((" ".join(key), one) for key, one in found)


def _reasons(survey: Survey) -> Iterator[str]:
    ranked = sorted(survey.reasons.items(), key=lambda item: (-item[1].count, item[0]))
    rows = [[reason, decision, str(one.count)] for (decision, reason), one in ranked]
    yield from _table("Reasons", ("reason", "decision", "objects"), rows)


def _unchecked(survey: Survey) -> Iterator[str]:
    """Objects that name a GPU resource and are skipped; the sample has those that are skipped silently."""
    ranked = sorted(survey.unchecked.items(), key=lambda item: (not item[0].is_silent, -item[1].count, item[0]))
    rows = [[_kind(key.group, key.kind), key.how, key.reason, str(one.count)] for key, one in ranked]
    yield from _table("Skipped without a finding", ("kind", "names a GPU", "reason", "objects"), rows)
    yield from _samples((f"{_kind(key.group, key.kind)} {key.how}", one) for key, one in ranked if key.is_silent)


def _errors(survey: Survey) -> Iterator[str]:
    """Errors by class; the sample comes from files that name a GPU, if there are any."""
    ranked = sorted(survey.errors.items(), key=lambda item: (-item[1].all.count, item[0]))
    rows = [[message, str(one.all.count), str(one.gpu.count)] for message, one in ranked]
    yield from _table("Errors", ("message", "errors", "in files that name a GPU"), rows)
    yield from _samples((message, one.gpu if one.gpu.count else one.all) for message, one in ranked)


def _kind(group: str, kind: str) -> str:
    return f"{group or 'core'}/{kind}"


def _numbers(objects: Objects) -> list[str]:
    return [str(number) for number in astuple(objects)]


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The title, and a table with columns of equal width; numbers to the right."""
    yield f"## {title}\n"
    if not rows:
        yield "None.\n"
        return
    cells = [[_cell(text) for text in row] for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    numeric = [all(text.isdigit() for text in column) for column in zip(*cells[1:], strict=True)]
    rule = ["-" * (width - 1) + (":" if right else "-") for width, right in zip(widths, numeric, strict=True)]
    for row in (cells[0], rule, *cells[1:]):
        padded = [
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(row, widths, numeric, strict=True)
        ]
        yield f"| {' | '.join(padded)} |"
    yield ""


def _cell(text: str) -> str:
    return printable(text).replace("|", "\\|")


def _samples(tallies: Iterable[tuple[str, Tally]]) -> Iterator[str]:
    for title, one in tallies:
        more = one.count - len(one.sample)
        yield f"{printable(title)}:\n"
        yield from _listed([*sorted(one.sample), *([f"and {more} more"] if more else [])])


def _listed(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield f"- {printable(line, LINE)}"
    yield ""
