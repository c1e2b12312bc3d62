"""What a run reads as facts from its own inputs, what it refuses to read, and the profiles that it proposes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from webhook.diagnostics import LINE
from webhook.policy.messages import printable
from webhook.report.model import filled

MOST_PLACES = 3
"""Places that are kept of the objects of a part."""


class Place(NamedTuple):
    """Where an object begins."""

    file: str
    line: int

    def __str__(self) -> str:
        return printable(f"{self.file}:{self.line}", LINE)


class Read(NamedTuple):
    """A part of the facts that is read. `part` is its key in the facts file, `says` what it says, in words.

    `places` are those of the first objects, `objects` is the number of all.
    """

    part: str
    says: str
    places: tuple[Place, ...]
    objects: int

    def __str__(self) -> str:
        first, further = self.places[0], self.objects - 1
        return f"{self.says} ({first}{f' and {further} more' if further else ''})"

    def as_data(self) -> dict[str, Any]:
        places = [place._asdict() for place in self.places]
        return {"part": self.part, "says": self.says, "objects": self.objects, "places": places}


class Refused(NamedTuple):
    """A part of the facts that is not read although inputs hold it, and why. `part` is empty for all parts."""

    part: str
    why: str
    places: tuple[Place, ...] = ()

    def __str__(self) -> str:
        places = f" ({' and '.join(map(str, self.places))})" if self.places else ""
        return f"{self.part or 'all'}: {self.why}{places}"

    def as_data(self) -> dict[str, Any]:
        places = [place._asdict() for place in self.places]
        return {**filled(part=self.part), "reason": self.why, "places": places}


class Proposal(NamedTuple):
    """A profile that may describe the cluster, and the marker in the inputs that shows it."""

    profile: str
    marker: str
    place: Place

    def __str__(self) -> str:
        return f"{self.place} {self.marker}: use --profile {self.profile}"

    def as_data(self) -> dict[str, Any]:
        return {"profile": self.profile, **self.place._asdict()}


class Evidence(NamedTuple):
    """What the inputs of a run show of a cluster, for its report."""

    read: tuple[Read, ...] = ()
    refused: tuple[Refused, ...] = ()
    proposals: tuple[Proposal, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield a line with what is read as facts, and one for each part that is not."""
        if self.read:
            yield f"facts from inputs: {'; '.join(map(str, self.read))}"
        for refusal in self.refused:
            yield f"not read as facts: {refusal}"

    def as_data(self) -> dict[str, Any]:
        """What is read and refused; empty without both."""
        return filled(
            read=[part.as_data() for part in self.read], refused=[refusal.as_data() for refusal in self.refused]
        )


NO_EVIDENCE = Evidence()
