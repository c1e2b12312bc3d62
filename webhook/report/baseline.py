"""The baseline in a report: the findings that a repository accepts for now, and what a run makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from webhook.policy.messages import printable
from webhook.report.fingerprint import FIELDS, Place

API_VERSION = "gpushare-webhook/v1"
KIND = "Baseline"


class Accepted(NamedTuple):
    """A finding of a file; `further` for those of a code that a report counts but does not list, which have no path."""

    file: str
    place: Place
    further: bool = False

    def __str__(self) -> str:
        group, kind, namespace, name, code, path, _ = map(printable, self.place)
        named = f"{namespace}/{name}" if namespace else name
        where = "not listed" if self.further else path or "/"
        return f"{printable(self.file)}: {code} {f'{kind}.{group}' if group else kind} {named} {where}"

    def as_data(self, count: int = 1) -> dict[str, Any]:
        """Return the entry of the file. What is empty is left out, and a count of 1."""
        entry = {"file": self.file, **{key: one for key, one in zip(FIELDS, self.place, strict=True) if one}}
        if self.further:
            return {**entry, "further": count}
        entry["path"] = self.place.path
        return {**entry, "count": count} if count > 1 else entry


@dataclass(frozen=True, slots=True)
class BaselineUse:
    """The baseline of a run: its file, whether the run writes it, and the entries that no longer occur."""

    file: str
    is_written: bool = False
    stale: tuple[Accepted, ...] = ()
