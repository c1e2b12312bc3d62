"""A search of an object for pods, in places to which no path of its kind leads.

It serves the command line only. Each part of the object is visited once, without recursion.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

from webhook.policy.pods.reading import Members
from webhook.policy.verdict import Path
from webhook.policy.workloads.extracted import Deferral, ExtractedPod
from webhook.policy.workloads.paths import EVERY, PodPath, Whole

Link: TypeAlias = "tuple[Link, str | int] | None"
"""The steps from the root to a node, the last one first."""


def path_to(link: Link) -> Path:
    """The path to a node."""
    steps: list[str | int] = []
    while link is not None:
        link, step = link
        steps.append(step)
    return tuple(reversed(steps))


class Guess(NamedTuple):
    """What looks like a pod, or like a container."""

    path: Path
    raw: Members
    holds: Whole

    def extracted(self, manifest: Members, deferral: Deferral | None) -> ExtractedPod:
        """The pod that it is. Raises MalformedError if it is none."""
        steps = tuple(EVERY if isinstance(step, int) else step for step in self.path)
        return ExtractedPod(self.path, self.raw, PodPath(steps, self.holds), manifest, is_pod=False, deferral=deferral)


CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
"""The members of a pod spec that hold containers."""

_TEMPLATE = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})
"""The members of a pod template, and of a whole object."""

OF_CONTAINER = frozenset(
    {
        *("args", "command", "env", "envFrom", "image", "imagePullPolicy", "lifecycle", "livenessProbe", "name"),
        *("ports", "readinessProbe", "resources", "securityContext", "startupProbe", "volumeDevices", "volumeMounts"),
        *("restartPolicy", "stdin", "tty", "workingDir", "terminationMessagePath", "terminationMessagePolicy"),
    }
)
"""The members of a container."""


def find_pods(manifest: Members) -> Iterator[Guess]:
    """What looks like a pod template, a pod spec or a container, in the order of the object.

    The containers of a pod are not searched: they hold no pods.
    """
    stack: list[tuple[Any, Link]] = [(manifest, None)]
    while stack:
        node, link = stack.pop()
        if isinstance(node, dict):
            left_out: Iterable[str] = ()
            spec = node.get("spec")
            if link is not None and node.keys() <= _TEMPLATE and isinstance(spec, dict) and _is_pod_spec(spec):
                yield Guess(path_to(link), node, "template")
                node, link, left_out = spec, (link, "spec"), CONTAINERS
            elif _is_pod_spec(node):
                yield Guess(path_to(link), node, "podSpec")
                left_out = CONTAINERS
            elif _is_container(node):
                yield Guess(path_to(link), node, "container")
                left_out = OF_CONTAINER
            stack.extend(_below(node, link, left_out))
        else:
            stack.extend(_elements(node, link))


def _is_pod_spec(node: Members) -> bool:
    containers = node.get("containers")
    return (
        isinstance(containers, list)
        and all(isinstance(one, dict) for one in containers)
        and any(_has_name(one) and len(one.keys() & OF_CONTAINER) > 1 for one in containers)
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


def _below(node: Members, link: Link, left_out: Iterable[str]) -> list[tuple[Any, Link]]:
    """The containers below a mapping, the last one first."""
    return [
        (value, (link, key))
        for key, value in reversed(node.items())
        if isinstance(value, dict | list) and key not in left_out
    ]


def _elements(node: list[Any], link: Link) -> list[tuple[Any, Link]]:
    return [
        (node[index], (link, index)) for index in reversed(range(len(node))) if isinstance(node[index], dict | list)
    ]
