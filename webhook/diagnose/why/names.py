"""The kinds and names of a question, as users spell them, and names that are near."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from webhook.cluster.objects import Kind, Objects
from webhook.cluster.reading import Object, controller, part, word
from webhook.diagnose.saved import SavedObjects
from webhook.diagnose.why.gather import KINDS
from webhook.policy.messages import printable
from webhook.policy.settings.formats import did_you_mean

_SHORT: Final[Mapping[str, str]] = {
    "po": "Pod",
    "deploy": "Deployment",
    "rs": "ReplicaSet",
    "sts": "StatefulSet",
    "ds": "DaemonSet",
    "cj": "CronJob",
}
"""The short names of kubectl."""

_MOST: Final = 500
"""Names among which a near one is looked for: a page."""


class KindError(ValueError):
    """A word that names no kind of which `why` knows causes. The message says what to do."""


def kind_of(asked: str) -> str:
    """The kind for a word of kubectl: its name, its plural, or its short name. Raises KindError."""
    spelled = asked.lower().partition(".")[0]
    for name, kind in KINDS.items():
        if spelled in (kind.name, kind.plural):
            return name
    if spelled in _SHORT:
        return _SHORT[spelled]
    if spelled in ("node", "nodes", "no"):
        raise KindError('why is about pods; "kubectl gpushare doctor" checks nodes, and "top" shows who holds replicas')
    names = [kind.name for kind in KINDS.values()]
    remedy = did_you_mean(spelled, names) or f"choose from {', '.join(names)}"
    raise KindError(f'there is no type "{printable(asked)}"; {remedy}')


async def lookup(objects: Objects, kind: Kind, namespace: str | None, name: str) -> Object | None:
    """The object of a name, in a namespace or in any; None where there is none, or it cannot be read."""
    if namespace is not None:
        return await objects.one(kind, namespace, name)
    async for page in objects.pages(kind, None, {"fieldSelector": f"metadata.name={name}"}):
        for one in page:
            if word(one, "metadata", "name") == name:
                return one
    return None


async def nearest(objects: Objects, kind: Kind, namespace: str | None, name: str) -> str:
    """The question whether a user meant a name that is near; empty where none is, or names cannot be read."""
    async for page in objects.pages(kind, namespace):
        names = [word(one, "metadata", "name") for one in page[:_MOST]]
        pods = sorted(one for one in names if one.startswith(f"{name}-")) if kind.name == "pod" else []
        if pods:  # the name is that of the workload
            return f'did you mean "{printable(pods[0])}", or a workload such as deployment/{name}?'
        return did_you_mean(name, names) or ""
    return ""


def topmost(objects: SavedObjects, kind: str, name: str, namespace: str | None) -> tuple[str, Object]:
    """The object of a name among saved ones; without a name, the only one that no other of them controls.

    Raises LookupError, with a message that says what to do.
    """
    if name:
        same = [one for one in objects.of(KINDS[kind]) if word(one, "metadata", "name") == name]
        here = [one for one in same if word(one, "metadata", "namespace") == namespace]
        if not same:
            names = [word(one, "metadata", "name") for one in objects.of(KINDS[kind])]
            remedy = did_you_mean(name, names) or f"the files hold {', '.join(names[:8]) or 'none of this type'}"
            raise LookupError(f"{KINDS[kind].name} {printable(name)} is not in the files; {printable(remedy)}")
        return kind, (here or same)[0]
    found = [(each, one) for each in KINDS for one in objects.of(KINDS[each])]
    names_of = {(each, word(one, "metadata", "name")) for each, one in found}
    top = [(each, one) for each, one in found if controller(part(one, "metadata")) not in names_of]
    if len(top) != 1:
        listed = ", ".join(f"{each.lower()}/{word(one, 'metadata', 'name')}" for each, one in top[:8])
        raise LookupError(
            f"name one of the objects: {printable(listed)}" if top else "the files hold no pod and no workload"
        )
    return top[0]
