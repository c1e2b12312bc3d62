"""Results of a suite: figures with one value a round, ratios of figures, and their files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import msgspec

from bench.machine import Machine
from bench.rounds import Rounds

FOLDER = Path(__file__).parent / "results"
_DIGITS = 4


class NoSuchFigureError(LookupError):
    """The results have no such figure: the candidate was skipped, or the name is wrong."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar to pass: a value of at least `least`, of at most `most`."""

    least: float | None = None
    most: float | None = None

    def holds(self, value: float) -> bool:
        """Whether a value passes."""
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)

    def __str__(self) -> str:
        return f"≥ {self.least:g}" if self.least is not None else f"≤ {self.most:g}"


@dataclass(frozen=True, slots=True)
class Spread:
    """The smallest, the middle and the largest of the rounds' values."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, values: tuple[float, ...]) -> Spread:
        """The spread of one value a round."""
        return cls(min(values), median(values), max(values))

    def write(self, form: Callable[[float], str]) -> str:
        """The middle, and in brackets the smallest and the largest where they differ from it as written."""
        low, middle, high = form(self.low), form(self.middle), form(self.high)
        return middle if low == middle == high else f"{middle} ({low}..{high})"


@dataclass(frozen=True, slots=True)
class Figure:
    """What was measured of a subject in a case: one value a round, in `unit`."""

    subject: str
    case: str
    quantity: str
    unit: str
    values: tuple[float, ...]
    bar: Bar | None = None

    @property
    def spread(self) -> Spread:
        """Over the rounds."""
        return Spread.of(self.values)


@dataclass(frozen=True, slots=True)
class Ratio:
    """A figure of `subject` over that of `over`, round by round, so that other load on the machine affects both."""

    subject: str
    over: str
    case: str
    quantity: str
    values: tuple[float, ...]
    bar: Bar | None = None

    @classmethod
    def between(cls, figure: Figure, other: Figure, bar: Bar | None = None) -> Ratio:
        """The ratio of two figures of one run. Raises ValueError when they are not of the same rounds."""
        pairs = zip(figure.values, other.values, strict=True)
        values = tuple(ours / theirs for ours, theirs in pairs)
        return cls(figure.subject, other.subject, figure.case, figure.quantity, values, bar)

    @property
    def spread(self) -> Spread:
        """Over the rounds."""
        return Spread.of(self.values)


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that one run of a suite measured.

    `skipped` has the reason for each subject that could not be measured, `notes` what else a reader has to know.
    """

    suite: str
    machine: Machine
    rounds: int
    method: str
    figures: tuple[Figure, ...] = ()
    ratios: tuple[Ratio, ...] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        suite: str,
        machine: Machine,
        rounds: Rounds,
        method: str,
        figures: Iterable[Figure] = (),
        ratios: Iterable[Ratio] = (),
        skipped: Mapping[str, str] | None = None,
        notes: Iterable[str] = (),
    ) -> Results:
        """The results of a run that took these rounds."""
        return cls(suite, machine, rounds.count, method, tuple(figures), tuple(ratios), skipped or {}, tuple(notes))

    @property
    def subjects(self) -> list[str]:
        """Everything that was measured, in the order of the figures."""
        return list(dict.fromkeys(figure.subject for figure in self.figures))

    def figure(self, subject: str, case: str, quantity: str) -> Figure:
        """One figure. Raises NoSuchFigureError."""
        for figure in self.figures:
            if (figure.subject, figure.case, figure.quantity) == (subject, case, quantity):
                return figure
        raise NoSuchFigureError(f"{self.suite}: no {quantity} of {subject} in the case {case!r}")

    def having(self, **wanted: str) -> Iterator[Figure]:
        """The figures with these members, in their order."""
        for figure in self.figures:
            if all(getattr(figure, name) == value for name, value in wanted.items()):
                yield figure


def save(results: Results, folder: Path = FOLDER) -> Path:
    """Write results as `<suite>.json`."""
    plain = msgspec.to_builtins(results)
    for entry in (*plain["figures"], *plain["ratios"]):
        entry["values"] = [_round(value) for value in entry["values"]]
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{results.suite}.json"
    file.write_text(json.dumps(plain, indent=1, ensure_ascii=False) + "\n")
    return file


def load(suite: str, folder: Path = FOLDER) -> Results:
    """Read the results of a suite. Raises FileNotFoundError, and msgspec.ValidationError where the file is not such."""
    return msgspec.json.decode((folder / f"{suite}.json").read_bytes(), type=Results)


def _round(value: float) -> float:
    """Four significant digits: more is noise in every diff."""
    return float(f"{value:.{_DIGITS}g}")
