"""Parts of objects that may come from a file: a part of another type counts as absent."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from webhook.policy.messages import cut
from webhook.policy.workloads.paths import at

Object = dict[str, Any]

LONGEST: Final = 4096
"""Characters of a message that are read. The API server accepts 1,024 of an Event, and any number in a status."""


FINISHED: Final = ("Succeeded", "Failed")
"""The phases of pods that hold nothing (kubernetes pkg/scheduler/eventhandlers.go `assignedPod`, podutil)."""


def part(value: object, *keys: str) -> Object:
    """The mapping at the end of a path of keys; an empty one where there is none."""
    found = at(value, keys)
    return found if isinstance(found, dict) else {}


def entries(value: object, *keys: str) -> list[Object]:
    """The mappings in the list at the end of a path of keys."""
    found = at(value, keys)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def word(value: object, *keys: str) -> str:
    """The text at the end of a path of keys, as far as it is read; empty where there is none."""
    found = at(value, keys)
    return cut(found, LONGEST) if isinstance(found, str) else ""


def number(value: object, *keys: str, default: int = 0) -> int:
    """The whole number at the end of a path of keys, or the default."""
    found = at(value, keys)
    return found if isinstance(found, int) and not isinstance(found, bool) else default


def condition(value: Object, kind: str) -> Object:
    """A condition in the status of an object; an empty one where there is none."""
    return next((one for one in entries(value, "status", "conditions") if one.get("type") == kind), {})


def is_true(value: Object, kind: str) -> bool:
    """Whether a condition of an object is true."""
    return condition(value, kind).get("status") == "True"


class Owner(NamedTuple):
    """The object that a pod belongs to; the pod itself if nothing controls it."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


def controller(metadata: object) -> Owner | None:
    """The owner that controls an object; None without one."""
    reference = controlling(metadata)
    return None if reference is None else Owner(word(reference, "kind"), word(reference, "name"))


def controlling(metadata: object) -> Object | None:
    """The reference to the owner that controls an object; None without one."""
    return next((one for one in entries(metadata, "ownerReferences") if one.get("controller")), None)
