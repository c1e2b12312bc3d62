"""A search of an object for pods and for amounts of GPU resources, in places that no check of its kind reads.

It serves the command line only. Each part of the object is visited once, without recursion.
"""

from __future__ import annotations

import marshal
import re
from collections.abc import Collection, Iterable, Iterator
from enum import Enum
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeAlias

from webhook.policy.pods.gpu_resources import MIG, GpuResources
from webhook.policy.pods.quantity import parse_or_zero
from webhook.policy.pods.reading import Members, is_placeholder
from webhook.policy.pods.requests import GpuRequests
from webhook.policy.verdict import Path
from webhook.policy.workloads.kinds import ExtractedPod
from webhook.policy.workloads.paths import Whole

Link: TypeAlias = "tuple[Link, str | int] | None"
"""The steps from the root to a node, the last one first."""

Tree: TypeAlias = "dict[str | int | None, Tree]"
"""Paths as a tree of their steps. `READ` ends the path of a part that is read. A part with `None` holds containers."""

READ: Tree = {}
NOTHING: Tree = {}

HOLDERS = (dict, list)
"""The types of values that hold others."""

_Branch: TypeAlias = tuple[Any, Link, Tree]
"""A mapping or list of an object, the steps to it, and what is read of it."""


def _below(node: Any, link: Link, tree: Tree, left_out: Collection[str]) -> list[_Branch]:
    """The mappings and lists in another one that are not read, the last one first."""
    found: list[_Branch] = [
        (value, (link, step), inner)
        for step, value in (node.items() if isinstance(node, dict) else enumerate(node))
        if isinstance(value, HOLDERS) and step not in left_out and (inner := tree.get(step, NOTHING)) is not READ
    ]
    return found[::-1]


def path_to(link: Link) -> Path:
    """The path to a node."""
    steps: list[str | int] = []
    while link is not None:
        link, step = link
        steps.append(step)
    return tuple(reversed(steps))


CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
"""The members of a pod spec that hold containers."""

_TEMPLATE = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})
"""The members of a pod template, and of a whole object."""

OF_CONTAINER = frozenset(
    """
    args command env envFrom image imagePullPolicy lifecycle livenessProbe name ports readinessProbe resources
    securityContext startupProbe volumeDevices volumeMounts restartPolicy stdin tty workingDir terminationMessagePath
    terminationMessagePolicy
    """.split()
)
"""The members of a container."""


def find_pods(manifest: Members) -> Iterator[tuple[Path, Members, Whole | Literal["object"]]]:
    """The mappings that look like a pod template, a pod spec or a container, in the order of the object, with paths.

    So are whole objects, which a controller creates. Neither they nor the containers of a pod are searched.
    """
    stack: list[_Branch] = [(manifest, None, NOTHING)]
    while stack:
        node, link, _ = stack.pop()
        left_out: Collection[str] = ()
        if isinstance(node, dict):
            spec = node.get("spec")
            if link is not None and _is_object(node):
                yield path_to(link), node, "object"
                continue
            if link is not None and node.keys() <= _TEMPLATE and isinstance(spec, dict) and _is_pod_spec(spec):
                yield path_to(link), node, "template"
                node, link, left_out = spec, (link, "spec"), CONTAINERS
            elif _is_pod_spec(node):
                yield path_to(link), node, "podSpec"
                left_out = CONTAINERS
            elif _is_container(node):
                yield path_to(link), node, "container"
                left_out = OF_CONTAINER
        stack += _below(node, link, NOTHING, left_out)


def _is_object(node: Members) -> bool:
    """Whether a mapping is an object, and not a reference to one, which has a name beside the kind."""
    header = node.get("apiVersion"), node.get("kind")
    is_whole = isinstance(node.get("metadata"), dict) or isinstance(node.get("spec"), dict)
    return is_whole and all(isinstance(one, str) and one for one in header)


def _is_pod_spec(node: Members) -> bool:
    containers = node.get("containers")
    return (
        isinstance(containers, list)
        and all(isinstance(one, dict) for one in containers)
        and any(
            (isinstance(one.get("name"), str) or isinstance(one.get("image"), str))
            and len(one.keys() & OF_CONTAINER) > 1
            for one in containers
        )
    )


def _is_container(node: Members) -> bool:
    """Whether a mapping outside a list of containers is certainly one: it has an image, and resources of its own."""
    resources = node.get("resources")
    return (
        isinstance(node.get("image"), str)
        and isinstance(resources, dict)
        and (isinstance(resources.get("limits"), dict) or isinstance(resources.get("requests"), dict))
    )


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


_AMOUNTS = tuple(
    "quantity value count amount gpu gpus gpuCount number limit request defaultCount minCount maxCount".split()
)
"""Members with the amount of the resource that another member of the mapping names."""

_CHOSEN = "identifier"
"""The member with the name of a resource whose amount users choose (AcceleratorProfile, HardwareProfile)."""


def encoded(manifest: Members) -> bytes | None:
    """An object in which texts are found in less time than the search of the smallest objects takes.

    The encoding writes each text of the object in full, wherever it occurs: its version 2 has no references. None if
    the object is nested too deeply.
    """
    try:
        return marshal.dumps(manifest, 2)
    except ValueError:
        return None


def in_encoding(text: str) -> bytes:
    """A text of ASCII as `encoded` writes it: its length comes first."""
    return len(text).to_bytes(4, "little") + text.encode()


class GpuNames:
    """The names of GPU resources, to be found as keys, as values and in text."""

    def __init__(self, gpus: GpuResources) -> None:
        self._gpus = gpus
        self._begins = sorted({re.split("[./]", name, maxsplit=1)[0] for name in (*gpus.by_name, MIG)})
        self._text: re.Pattern[str] | None = None

    def __contains__(self, name: object) -> bool:
        return name in self._gpus

    def occurrences(self, text: bytes | None) -> int | None:
        """How often the beginnings of the names occur in an encoded object; None if it could not be encoded."""
        return None if text is None else sum([text.count(begin.encode()) for begin in self._begins])

    def named_in(self, text: bytes | None) -> bool:
        """Whether a key, a value or a word of a text in an encoded object is the name of a GPU resource.

        True if it was not encoded.
        """
        if text is None or MIG.encode() in text:
            return True
        names = [name for name in self._gpus.by_name if name.encode() in text]
        if any(in_encoding(name) in text for name in names):
            return True
        words = b"|".join(re.escape(name.encode()) for name in names)
        return bool(names) and re.search(rb"(?<![\w./-])(?:%b)(?![\w./-])" % words, text) is not None

    def may_be_in(self, text: str) -> bool:
        """Whether a text has the beginning of a name."""
        return any(begin in text for begin in self._begins)

    def in_text(self, text: str) -> str | None:
        """The first name in a text that an amount follows, or with which a path to an amount ends; or None."""
        if self._text is None:
            self._text = _in_text(self._gpus)
        for begin in self._begins:
            place = text.find(begin)
            while place >= 0:
                found = self._text.match(text, place)
                if found is not None and not _is_removed(text, found):
                    return str(found[found.lastindex or 0]).replace("\\", "").replace("~1", "/")
                place = text.find(begin, place + 1)
        return None


def _in_text(gpus: GpuResources) -> re.Pattern[str]:
    """The pattern of names in text. Few objects need it, and to compile it takes as long as to check a hundred."""
    longest_first = sorted(gpus.by_name, key=lambda name: (-len(name), name))
    either = "|".join([*map(re.escape, longest_first), re.escape(MIG) + "[A-Za-z0-9.+-]{1,40}"])
    # A dot may follow a backslash, as in the options of Helm, and a JSON pointer writes a slash as ~1.
    spelled = either.replace(r"\.", r"\\?\.")
    pointed = spelled.replace("/", "~1")
    in_pointer = rf"{_BELOW.format('/')}(?P<{_POINTED}>{pointed})(?![A-Za-z0-9.~-])"
    # A path of kustomize has the name after backslashes, or in brackets.
    escaped = either.replace(r"\.", r"\\\.")
    in_path = rf"{_BELOW.format(_DOT)}({escaped})(?![A-Za-z0-9/:=-])|{_BELOW.format(_BRACKET)}({either})(?=\])"
    return re.compile(rf"{_ALONE}({spelled}){_IS}|{in_pointer}|{in_path}", re.ASCII)


def _is_removed(text: str, found: re.Match[str]) -> bool:
    """Whether the JSON patch in which a pointer stands removes the amount. Such an operation has two members only."""
    if found[_POINTED] is None:
        return False
    begin, end = found.span()
    return _REMOVAL_BEFORE.search(text, max(0, begin - _NEAR), begin) is not None or (
        _REMOVAL_AFTER.match(text, end) is not None
    )


_POINTED = "pointed"
"""The group of a name in a JSON pointer."""

_NEAR = 512
"""Characters before a name in which the operation is looked for; a pointer to a container's resources has about 80."""

_SAYS = r"""["']?\s{0,8}:\s{0,8}["']?"""
_REMOVE = rf"\bop{_SAYS}remove"
_NEXT = r"""["']?[\s,]{1,99}["']?"""
_REMOVAL_BEFORE = re.compile(rf"""{_REMOVE}{_NEXT}path{_SAYS}[^\s"',]{{0,256}}\Z""", re.ASCII)
_REMOVAL_AFTER = re.compile(rf"{_NEXT}{_REMOVE}", re.ASCII)


_ALONE = r"(?:(?<![A-Za-z0-9.-])|(?<=\.)(?=[^/\\]{1,64}\\\.))"
"""Where a name begins: not within a longer one, such as that of a quota, but also below a key of Helm's options."""

_IS = r"""["'\\]{0,8}\s{0,8}[:=]\s{0,8}["'\\]{0,8}(?:[1-9][0-9]{0,9}(?![0-9]|:[A-Z])|\{\{|\$)"""
"""The text after a name: a sign, and an amount above 0 or a placeholder. The effect of a taint may follow no amount."""

_BELOW = "(?:(?<=limits{0})|(?<=requests{0}))"
"""Where the last step of a path to an amount begins, after a separator."""

_DOT, _BRACKET = r"\.", r"\.\["


def amounts_read(requests: GpuRequests) -> Iterator[Path]:
    """The paths to the amounts that the checks of a pod read."""
    for request in requests.named:
        container, name = request.container, request.resource.name
        yield container.amount_path(request.field, name)
        if request.field == "limits" and name in container.requests:
            yield container.amount_path("requests", name)
    for field, name in requests.of_pod:
        yield (*requests.pod.path_of("resources"), field, name)


def containers_of(extracted: ExtractedPod) -> Iterator[Path]:
    """The paths to the containers of a pod, or to their members: text there is what a program gets."""
    pod = extracted.pod
    if extracted.place.holds in ("template", "podSpec"):
        yield from ((*pod.spec_path, field) for field in CONTAINERS)
    else:
        for container in pod.containers:
            yield from ((*container.path, field) for field in container.raw if field in OF_CONTAINER)


class _Sense(Enum):
    """The members that name an amount in a part of an object."""

    EVERYTHING = "the name of a resource as a key, a name beside an amount, and text"
    KEYS = "the name of a resource as a key"
    RESOURCES = "the name of a resource as a key of limits or requests"


_EVERYTHING, _KEYS, _RESOURCES = _Sense

ELSEWHERE = frozenset(
    """
    affinity annotations labels matchExpressions matchLabels nodeAffinity nodeSelector requirements startupTaints
    taints tolerations topologySpreadConstraints batchSchedulerOptions ignoreDifferences schedulingPolicy
    """.split()
)
"""Members that name GPU resources for other reasons than to ask for them: to select, label, taint, sum up and compare.

Below them, only `limits` and `requests` hold amounts, where the indentation is wrong.
"""

_Part: TypeAlias = tuple[Any, Link, Tree, _Sense]
"""A value of an object, the steps to it, what is read of it, and what names an amount in it."""


def find_mentions(
    manifest: Members, names: GpuNames, read: Iterable[Path], containers: Iterable[Path] = ()
) -> Iterator[Mention]:
    """The amounts of GPU resources outside the parts that are read, in the order of the object.

    `containers` are paths to parts in which only keys name amounts. Of a limit and a request of the same resource, the
    first one counts.
    """
    tree = tree_of(read, containers)
    if tree is READ:
        return
    seen: set[tuple[Path | None, str]] = set()
    # The API server ignores the status of a manifest, which a controller writes.
    specified = {key: value for key, value in manifest.items() if key != "status"}
    stack: list[_Part] = [(specified, None, tree, _EVERYTHING)]
    while stack:
        node, link, tree, sense = stack.pop()
        if None in tree and sense is _EVERYTHING:
            sense = _KEYS
        if isinstance(node, str):
            if (name := names.in_text(node)) is not None:
                yield Mention(path_to(link), name, node, is_text=True)
            continue
        for mention in _of_mapping(node, link, names, sense) if isinstance(node, dict) else ():
            resource = mention.resources, mention.name
            if tree.get(mention.path[-1]) is not READ and resource not in seen:
                yield mention
            if mention.resources is not None:
                seen.add(resource)
        stack.extend(_parts_below(node, link, tree, sense, names))


def _parts_below(node: Any, link: Link, tree: Tree, sense: _Sense, names: GpuNames) -> list[_Part]:
    """The parts of a mapping or list that may hold amounts, the last one first."""
    found: list[_Part] = []
    for step, value in node.items() if isinstance(node, dict) else enumerate(node):
        is_text = sense is _EVERYTHING and isinstance(value, str) and names.may_be_in(value)
        if is_text and step == "path" and node.get("op") == "remove":
            continue  # an operation of a JSON patch
        if (is_text or isinstance(value, HOLDERS)) and (inner := tree.get(step, NOTHING)) is not READ:
            found.append((value, (link, step), inner, _RESOURCES if step in ELSEWHERE else sense))
    found.reverse()
    return found


def _of_mapping(node: Members, link: Link, names: GpuNames, sense: _Sense) -> Iterator[Mention]:
    """The amounts that are members of a mapping: below the name of a resource, or beside it."""
    is_resources = link is not None and link[1] in ("limits", "requests")
    if sense is _RESOURCES and not is_resources:
        return
    for key, value in node.items():
        if "/" in key and key in names:
            # Such as a minimum and a maximum, which no path of a kind can describe.
            is_range = is_resources and isinstance(value, HOLDERS) and bool(value)
            if is_range or _amount(value):
                path = path_to(link)
                yield Mention((*path, key), key, value, path[:-1] if is_resources and not is_range else None)
        elif sense is _EVERYTHING and isinstance(value, str) and "/" in value and value in names and key != "key":
            amounts = (one for one in _AMOUNTS if one != key and _amount(node.get(one)))
            field = next(amounts, key if key == _CHOSEN else None)
            if field is not None:
                yield Mention((*path_to(link), field), value, node[field])


def _amount(value: object) -> int:
    """An amount in billionths: 1 for a placeholder of one, and 0 for what is no amount."""
    return parse_or_zero(value) or int(is_placeholder(value))


def tree_of(read: Iterable[Path], containers: Iterable[Path] = ()) -> Tree:
    """Paths as a tree. A path below the end of another one adds nothing."""
    root: Tree = {}
    paths: Iterable[tuple[str | int | None, ...]] = chain(read, ((*path, None) for path in containers))
    for path in paths:
        if not path:
            return READ
        node = root
        for step in path[:-1]:
            node = node.setdefault(step, {})
            if node is READ:
                break
        else:
            node[path[-1]] = READ
    return root


BARE = ("gpu", "gpus", "gpuCount")
"""The names of fields that hold a number of GPUs."""

_BESIDE = ("cpu", "memory")
_LISTS = ("limits", "requests")

_OF_OTHERS = frozenset(("allocatable", "capacity", "hard", "limitRange", "machineTypes", "quota"))
"""Members that describe machines and quotas, such as `machineTypes` of Gardener: nothing below them asks for a GPU."""

_NO_BARE = ELSEWHERE | _OF_OTHERS

ENCODED_BARE = tuple(map(in_encoding, BARE))


def find_bare(manifest: Members, left_out: Iterable[Path]) -> Iterator[Mention]:
    """The amounts below bare names in an object of an unknown kind, such as `gpu: 4` beside `cpu`.

    Operators have fields of this form and turn them into requests for GPUs: `spec.resources.gpu` of LLMKube,
    `resources.limits.gpu` of Dynamo's v1alpha1. No standard says so, so an amount is a reason to look at the object and
    no more. It is above 0, or a placeholder, and stands beside `cpu` or `memory`, or in `resources`, its `limits` or
    `requests`.

    The parts that are left out, such as the containers of found pods, are not searched: GPS013 reads them. Each part is
    visited once, without recursion. Of a limit and a request of the same name, the first one counts.
    """
    seen: set[tuple[Path, str]] = set()
    specified = {key: value for key, value in manifest.items() if key not in ("metadata", "status")}
    stack: list[_Branch] = [(specified, None, tree_of(left_out))]
    while stack:
        node, link, tree = stack.pop()
        if isinstance(node, dict):
            for name in _bare_names(node, link):
                path = path_to(link)
                place = path[:-1] if path and path[-1] in _LISTS else path
                if (place, name) not in seen and tree.get(name) is not READ:
                    yield Mention((*path, name), name, node[name])
                seen.add((place, name))
        stack += _below(node, link, tree, _NO_BARE)


def _bare_names(node: Members, link: Link) -> list[str]:
    """The bare names with an amount above 0, or a placeholder of one, in a mapping that holds amounts."""
    names = [name for name in BARE if name in node]
    if link is not None and link[1] in _LISTS:
        link = link[0]
    is_of_resources = link is not None and link[1] == "resources"
    if not is_of_resources and not any(name in node for name in _BESIDE):
        return []
    return [name for name in names if _amount(node[name]) > 0]
