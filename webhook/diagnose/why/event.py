"""The events of an object, the newest first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from heapq import nlargest
from operator import attrgetter
from typing import Final, NamedTuple

from webhook.cluster.objects import EVENT, Object, Objects
from webhook.cluster.reading import number, part, word

MOST: Final = 100
"""Events of one object that are kept: the newest."""


class Event(NamedTuple):
    """An event of a namespace. `when` is the time at which it was seen last, as text that sorts by time."""

    of_kind: str
    of_name: str
    of_uid: str
    reason: str
    message: str
    when: str
    times: int
    source: str

    def __str__(self) -> str:
        often = f" ({self.times} times)" if self.times > 1 else ""
        return f"event {self.reason}{often}: {self.message}"


def event(found: Object) -> Event:
    """Read an event of core/v1 or events.k8s.io/v1."""
    about = part(found, "involvedObject") or part(found, "regarding")
    series = part(found, "series")
    times = [
        word(series, "lastObservedTime"),
        word(found, "lastTimestamp") or word(found, "deprecatedLastTimestamp"),
        word(found, "eventTime"),
        word(found, "metadata", "creationTimestamp"),
    ]
    return Event(
        word(about, "kind"),
        word(about, "name"),
        word(about, "uid"),
        word(found, "reason"),
        word(found, "message") or word(found, "note"),
        max((one[:19] for one in times), default=""),  # to the second: the sources write fractions or none
        max(number(series, "count"), number(found, "count"), number(found, "deprecatedCount")),
        word(found, "source", "component") or word(found, "reportingComponent") or word(found, "reportingController"),
    )


async def events_of(objects: Objects, about: Object, kind: str) -> list[Event]:
    """Read the newest events of an object."""
    namespace, name, uid = (word(about, "metadata", key) for key in ("namespace", "name", "uid"))
    query = {"fieldSelector": f"involvedObject.name={name}"}
    found: list[Event] = []
    async for page in objects.pages(EVENT, namespace, query):
        # An earlier object of the same name has another uid.
        same = (one for one in map(event, page) if (one.of_kind, one.of_name) == (kind, name))
        found = newest([*found, *(one for one in same if not uid or one.of_uid in (uid, ""))])
    return found


def newest(found: Iterable[Event]) -> list[Event]:
    """The newest of events, in order."""
    return nlargest(MOST, found, key=attrgetter("when"))


def first(found: Sequence[Event], reasons: Collection[str], text: str = "") -> Event | None:
    """The newest event with one of these reasons, and a text in its message; None without one."""
    return next((one for one in found if one.reason in reasons and text in one.message), None)
