"""Objects that a user saved to files, such as with `kubectl get -o yaml`, in place of those of an API server."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable

from webhook.cluster.api_server import OBJECTS
from webhook.cluster.objects import EVENT, PAGE, Kind, LeftOut, Object, Objects, Shape
from webhook.cluster.reading import word
from webhook.policy.workloads.kinds import group_of


class SavedObjects(Objects):
    """The objects of files, an `Objects`. A kind of which the files hold nothing is unknown.

    Selectors of labels select nothing: each reader takes its part of a list.
    """

    def __init__(self, found: Iterable[Object]) -> None:
        self.left_out: list[LeftOut] = []
        self._by_kind: dict[tuple[str, str], list[Object]] = {}
        for one in found:
            version, kind = one.get("apiVersion"), one.get("kind")
            if isinstance(version, str) and isinstance(kind, str) and isinstance(one.get("metadata"), dict):
                self._by_kind.setdefault((_group(version, kind), kind.lower()), []).append(one)

    def of(self, kind: Kind, namespace: str | None = None) -> list[Object]:
        """The objects of a kind in a namespace, or in all of them; one that names no namespace may be in any."""
        found = self._by_kind.get((kind.group, kind.name), [])
        return [one for one in found if namespace is None or one["metadata"].get("namespace") in (namespace, "", None)]

    async def pages(
        self, kind: Kind, namespace: str | None = None, shape: Shape = OBJECTS, /, **query: str
    ) -> AsyncGenerator[list[Object], None]:
        if self.lacks(kind):
            self._leave_out(kind)
        fields = query.get("fieldSelector", "") if kind is not EVENT else ""  # of which each group has its own
        found = [one for one in self.of(kind, namespace) if _selects(fields, one)]
        for at in range(0, len(found), PAGE):
            yield found[at : at + PAGE]

    async def one(self, kind: Kind, namespace: str | None, name: str) -> Object | None:
        for one in self.of(kind, namespace):
            if one["metadata"].get("name") == name:
                return one
        self._leave_out(kind)
        return None

    def lacks(self, kind: Kind, namespace: str | None = None) -> bool:
        return (kind.group, kind.name) not in self._by_kind

    def has_all(self, kind: Kind) -> bool:
        return False

    def hides(self, kind: Kind, namespace: str | None, name: str) -> bool:
        return True

    def _leave_out(self, kind: Kind) -> None:
        why = "not in the files" if self.lacks(kind) else "not all are in the files"
        self.leave_out(kind.plural, why)


def _selects(fields: str, one: Object) -> bool:
    """Whether an object has the fields of a selector, such as `spec.nodeName=a,status.phase!=Failed`."""
    for each in fields.split(",") if fields else ():
        key, _, value = each.partition("=")
        *above, last = key.removesuffix("!").split(".")
        if (word(one, *above, last) == value) is key.endswith("!"):
            return False
    return True


def _group(version: str, kind: str) -> str:
    """The group of an object; events have two, which hold the same."""
    group = group_of(version)
    return "" if kind == "Event" and group == "events.k8s.io" else group
