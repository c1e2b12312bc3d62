"""How often everything is measured, and for how long."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rounds:
    """`count` rounds, in each of which every candidate has its turn.

    `share` scales the time or the count of each measurement: 1 in a run that counts, less in one that only shows that
    everything works.
    """

    count: int
    share: float = 1.0

    def seconds(self, usual: float) -> float:
        """How long to measure what usually takes `usual` seconds."""
        return max(0.2, usual * self.share)

    def many(self, usual: int) -> int:
        """How many to measure of `usual`, at least one."""
        return max(1, round(usual * self.share))


FULL = Rounds(5)
"""Five rounds: the spread of three understates by how much whole runs differ."""
QUICK = Rounds(1, share=0.08)
