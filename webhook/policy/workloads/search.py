"""A search of an object for pods, and for amounts of GPU resources, in places to which no path of its kind leads.

It serves the command line only. Each part of the object is visited once, without recursion.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

from webhook.policy.pods.gpu_resources import MIG, GpuResources
from webhook.policy.pods.placeholders import is_placeholder
from webhook.policy.pods.quantity import QuantityError, parse
from webhook.policy.pods.reading import Members
from webhook.policy.verdict import Path
from webhook.policy.workloads.extracted import Deferral, ExtractedPod
from webhook.policy.workloads.paths import EVERY, PodPath, Whole

_Link: TypeAlias = "tuple[_Link, str | int] | None"
"""The steps from the root to a node, the last one first."""

_Covered: TypeAlias = "dict[str | int, _Covered]"
"""Paths as a tree of their steps. `_END` marks the end of each."""

_END: _Covered = {}
_NOTHING: _Covered = {}


class Guess(NamedTuple):
    """What looks like a pod, or like a container."""

    path: Path
    raw: Members
    holds: Whole

    def extracted(self, manifest: Members, deferral: Deferral | None) -> ExtractedPod:
        """The pod that it is. Raises MalformedError if it is none."""
        steps = tuple(EVERY if isinstance(step, int) else step for step in self.path)
        return ExtractedPod(self.path, self.raw, PodPath(steps, self.holds), manifest, is_pod=False, deferral=deferral)


class Mention(NamedTuple):
    """A place that names an amount of a GPU resource.

    `path` leads to the amount, or to the text around it. `resources` leads to the `limits` and `requests` that hold it;
    None for an amount elsewhere. `is_text`: the value is text of which the amount is a part.
    """

    path: Path
    name: str
    value: object
    resources: Path | None = None
    is_text: bool = False


_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_TEMPLATE = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})
"""The members of a pod template, and of a whole object."""

_OF_CONTAINER = frozenset(
    {
        *("args", "command", "env", "envFrom", "image", "imagePullPolicy", "lifecycle", "livenessProbe", "name"),
        *("ports", "readinessProbe", "resources", "securityContext", "startupProbe", "volumeDevices", "volumeMounts"),
        *("restartPolicy", "stdin", "tty", "workingDir", "terminationMessagePath", "terminationMessagePolicy"),
    }
)
"""The members of a container."""


def covers(extracted: ExtractedPod) -> Iterator[Path]:
    """The paths to the parts of an object that the checks of a pod read for amounts: its containers."""
    pod = extracted.pod
    if extracted.place.holds in ("template", "podSpec"):
        yield from ((*pod.spec_path, field) for field in _CONTAINERS)
        return
    for container in pod.containers:
        yield from ((*container.path, field) for field in container.raw if field in _OF_CONTAINER)
        for field, amounts in (("limits", container.limits), ("requests", container.requests)):
            yield from (container.amount_path(field, name) for name in amounts)


def find_pods(manifest: Members) -> Iterator[Guess]:
    """What looks like a pod template, a pod spec or a container, in the order of the object.

    The containers of a pod are not searched: they hold no pods.
    """
    stack: list[tuple[Any, _Link]] = [(manifest, None)]
    while stack:
        node, link = stack.pop()
        if isinstance(node, dict):
            left_out: Iterable[str] = ()
            spec = node.get("spec")
            if link is not None and node.keys() <= _TEMPLATE and isinstance(spec, dict) and _is_pod_spec(spec):
                yield Guess(_path(link), node, "template")
                node, link, left_out = spec, (link, "spec"), _CONTAINERS
            elif _is_pod_spec(node):
                yield Guess(_path(link), node, "podSpec")
                left_out = _CONTAINERS
            elif _is_container(node):
                yield Guess(_path(link), node, "container")
                left_out = _OF_CONTAINER
            stack.extend(_below(node, link, left_out))
        else:
            stack.extend(_elements(node, link))


def _is_pod_spec(node: Members) -> bool:
    containers = node.get("containers")
    return (
        isinstance(containers, list)
        and all(isinstance(one, dict) for one in containers)
        and any(_has_name(one) and len(one.keys() & _OF_CONTAINER) > 1 for one in containers)
    )


def _has_name(node: Members) -> bool:
    return isinstance(node.get("name"), str) or isinstance(node.get("image"), str)


def _is_container(node: Members) -> bool:
    """Whether a mapping outside a list of containers is certainly one: it has an image, and resources of its own."""
    resources = node.get("resources")
    return (
        isinstance(node.get("image"), str)
        and isinstance(resources, dict)
        and (isinstance(resources.get("limits"), dict) or isinstance(resources.get("requests"), dict))
    )


def _below(node: Members, link: _Link, left_out: Iterable[str]) -> list[tuple[Any, _Link]]:
    """The containers below a mapping, the last one first."""
    return [
        (value, (link, key))
        for key, value in reversed(node.items())
        if isinstance(value, dict | list) and key not in left_out
    ]


def _elements(node: list[Any], link: _Link) -> list[tuple[Any, _Link]]:
    return [
        (node[index], (link, index)) for index in reversed(range(len(node))) if isinstance(node[index], dict | list)
    ]


def _path(link: _Link) -> Path:
    steps: list[str | int] = []
    while link is not None:
        link, step = link
        steps.append(step)
    return tuple(reversed(steps))


_ELSEWHERE = frozenset(
    {
        *("affinity", "annotations", "labels", "matchExpressions", "matchLabels", "metadata", "nodeAffinity"),
        *("nodeSelector", "requirements", "startupTaints", "taints", "tolerations", "topologySpreadConstraints"),
    }
)
"""Members that name GPU resources for other reasons than to ask for them: they select, label and taint."""

_AMOUNTS = ("quantity", "value", "count", "amount", "gpu", "gpus", "gpuCount", "number", "limit", "request")
"""Members with the amount of the resource that another member of the mapping names."""


class GpuNames:
    """The names of GPU resources, to be found as keys, as values and in text."""

    __slots__ = ("_begins", "_gpus", "_text")

    def __init__(self, gpus: GpuResources) -> None:
        self._gpus = gpus
        self._begins = sorted({re.split("[./]", name, maxsplit=1)[0] for name in (*gpus.by_name, MIG)})
        longest_first = sorted(gpus.by_name, key=lambda name: (-len(name), name))
        either = "|".join([*map(re.escape, longest_first), re.escape(MIG) + "[A-Za-z0-9.+-]{1,40}"])
        # A dot may follow a backslash, as in the options of Helm, and a JSON pointer writes a slash as ~1.
        spelled = either.replace(r"\.", r"\\?\.")
        pointed = spelled.replace("/", "~1")
        self._text = re.compile(rf"{_ALONE}({spelled}){_IS}|{_BELOW}({pointed})(?![A-Za-z0-9.~-])", re.ASCII)

    def __contains__(self, name: object) -> bool:
        return name in self._gpus

    def in_text(self, text: str) -> str | None:
        """The first name in a text that an amount follows, or that a JSON pointer to an amount ends with; or None."""
        for begin in self._begins:
            place = text.find(begin)
            while place >= 0:
                found = self._text.match(text, place)
                if found is not None:
                    return (found[1] or found[2]).replace("\\", "").replace("~1", "/")
                place = text.find(begin, place + 1)
        return None


_ALONE = r"(?:(?<![A-Za-z0-9.-])|(?<=\.)(?=[^/\\]{1,64}\\\.))"
"""Where a name begins: not within a longer one, such as that of a quota, but also below a key of Helm's options."""

_IS = r"""["'\\]{0,8}\s{0,8}[:=]\s{0,8}["'\\]{0,8}(?:[1-9][0-9]{0,9}(?![0-9]|:[A-Z])|\{\{|\$)"""
"""What follows a name: a sign, and an amount above 0 or a placeholder. The effect of a taint may follow no amount."""

_BELOW = "(?:(?<=limits/)|(?<=requests/))"
"""Where the last step of a JSON pointer to an amount begins."""


def find_mentions(manifest: Members, names: GpuNames, covered: Iterable[Path]) -> Iterator[Mention]:
    """The amounts of GPU resources outside the covered paths, in the order of the object.

    Of a limit and a request of the same resource, the first one counts.
    """
    seen: set[tuple[Path | None, str]] = set()
    stack: list[tuple[Any, _Link, _Covered]] = [(manifest, None, _tree(covered))]
    while stack:
        node, link, tree = stack.pop()
        if tree is _END:
            continue
        if isinstance(node, dict):
            for mention in _of_mapping(node, link, names):
                resource = mention.resources, mention.name
                if tree.get(mention.path[-1]) is not _END and resource not in seen:
                    yield mention
                if mention.resources is not None:
                    seen.add(resource)
            stack.extend(
                (value, (link, key), tree.get(key, _NOTHING))
                for key, value in reversed(node.items())
                if key not in _ELSEWHERE and isinstance(value, dict | list | str)
            )
        elif isinstance(node, list):
            stack.extend(
                (node[index], (link, index), tree.get(index, _NOTHING)) for index in reversed(range(len(node)))
            )
        elif isinstance(node, str) and (name := names.in_text(node)) is not None:
            yield Mention(_path(link), name, node, is_text=True)


def _of_mapping(node: Members, link: _Link, names: GpuNames) -> Iterator[Mention]:
    """The amounts that are members of a mapping: below the name of a resource, or beside it."""
    is_resources = link is not None and link[1] in ("limits", "requests")
    for key, value in node.items():
        if key in names:
            if _is_amount(value):
                yield Mention((*_path(link), key), key, value, _path(link)[:-1] if is_resources else None)
        elif isinstance(value, str) and value in names and key != "key":
            for field in _AMOUNTS:
                if field != key and _is_amount(node.get(field)):
                    yield Mention((*_path(link), field), value, node[field])
                    break


def _is_amount(value: object) -> bool:
    """Whether a value is an amount other than 0, or a placeholder of one."""
    try:
        return parse(value) != 0
    except QuantityError:
        return is_placeholder(value)


def _tree(paths: Iterable[Path]) -> _Covered:
    """Paths as a tree. A path below the end of another one adds nothing."""
    root: _Covered = {}
    for path in paths:
        node = root
        for step in path[:-1]:
            node = node.setdefault(step, {})
            if node is _END:
                break
        else:
            if not path:
                return _END
            node[path[-1]] = _END
    return root
