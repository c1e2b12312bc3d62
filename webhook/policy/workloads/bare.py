"""A search of objects of unknown kinds for amounts below bare names, such as `gpu: 4` beside `cpu`.

Operators have fields of this form and turn them into requests for GPUs: `resources.limits.gpu` of Dynamo's v1alpha1,
`spec.resources.gpu` of LLMKube. No standard says so, so an amount is a reason to look at the object and no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from webhook.policy.pods.quantity import QuantityError, parse
from webhook.policy.pods.reading import Members, is_placeholder
from webhook.policy.verdict import Path
from webhook.policy.workloads.search import ELSEWHERE, HOLDERS, NOTHING, READ, Link, Mention, Tree, path_to, tree_of
from webhook.policy.workloads.without_pods import RENDERED, is_of_kubernetes

BARE = ("gpu", "gpus", "gpuCount")
"""The names of fields that hold a number of GPUs."""

_BESIDE = ("cpu", "memory")
_LISTS = ("limits", "requests")

_OF_OTHERS = frozenset(("allocatable", "capacity", "hard", "limitRange", "machineTypes", "quota"))
"""Members that describe machines and quotas, such as `machineTypes` of Gardener: nothing below them asks for a GPU."""

_LEFT_OUT = ELSEWHERE | _OF_OTHERS

_ENCODED = tuple(len(name).to_bytes(4, "little") + name.encode() for name in BARE)
"""How `encoded` writes a text of just these characters: its length comes first."""


def may_have_bare(text: bytes | None) -> bool:
    """Whether an encoded object has a bare name, as a key or a value."""
    return text is None or any(name in text for name in _ENCODED)


def has_unknown_fields(group: str, kind: str) -> bool:
    """Whether nothing says what the fields of a kind without paths mean. For some, a chart or an overlay says it."""
    return (group, kind) not in RENDERED and not is_of_kubernetes(group)


def find_bare(manifest: Members, left_out: Iterable[Path]) -> Iterator[Mention]:
    """The amounts above 0, and placeholders, beside `cpu` or `memory`, or in `resources`, its `limits` or `requests`.

    The parts that are left out, such as the containers of found pods, are not searched: GPS013 reads them. Each part is
    visited once, without recursion. Of a limit and a request of the same name, the first one counts.
    """
    seen: set[tuple[Path, str]] = set()
    specified = {key: value for key, value in manifest.items() if key not in ("metadata", "status")}
    stack: list[tuple[Any, Link, Tree]] = [(specified, None, tree_of(left_out))]
    while stack:
        node, link, tree = stack.pop()
        if isinstance(node, dict):
            for name in _amounts(node, link):
                path = path_to(link)
                place = path[:-1] if path and path[-1] in _LISTS else path
                if (place, name) not in seen and tree.get(name) is not READ:
                    yield Mention((*path, name), name, node[name])
                seen.add((place, name))
        steps = node.items() if isinstance(node, dict) else enumerate(node)
        below = [
            (value, (link, step), inner)
            for step, value in steps
            if isinstance(value, HOLDERS) and step not in _LEFT_OUT and (inner := tree.get(step, NOTHING)) is not READ
        ]
        stack.extend(reversed(below))


def _amounts(node: Members, link: Link) -> list[str]:
    """The bare names with an amount above 0, or a placeholder of one, in a mapping that holds amounts."""
    names = [name for name in BARE if name in node]
    if not names or not (any(name in node for name in _BESIDE) or _is_of_resources(link)):
        return []
    return [name for name in names if _is_amount(node[name])]


def _is_of_resources(link: Link) -> bool:
    """Whether a mapping is `resources`, or its limits or requests."""
    if link is not None and link[1] in _LISTS:
        link = link[0]
    return link is not None and link[1] == "resources"


def _is_amount(value: object) -> bool:
    try:
        return parse(value) > 0
    except QuantityError:
        return is_placeholder(value)
