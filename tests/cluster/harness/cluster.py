"""A cluster as a context manager: with a node, or the control plane alone."""

from __future__ import annotations

import os
import shutil
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tests.cluster.harness import leftovers
from tests.cluster.harness.controlplane import ControlPlane
from tests.cluster.harness.node import Node
from tests.cluster.harness.options import ControlPlaneOptions, NodeOptions
from tests.cluster.harness.place import Loopback, Namespaces, Place, missing_rights
from tests.cluster.harness.tools import ControlPlaneTools, NodeTools, kubernetes_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.harness.api import Api, Kubectl


P = TypeVar("P", bound=Place)


class UnavailableError(Exception):
    """A cluster cannot run here; the message says what is missing."""


class ControlPlaneOnly:
    """A running control plane: `api` and `kubectl` as administrator."""

    def __init__(self, place: Place, control: ControlPlane) -> None:
        self.place, self.control = place, control

    @property
    def api(self) -> Api:
        """Requests to the API server as administrator."""
        return self.control.api

    @property
    def kubectl(self) -> Kubectl:
        """kubectl as administrator."""
        return self.control.kubectl


class Cluster(ControlPlaneOnly):
    """A running cluster with a node."""

    def __init__(self, place: Namespaces, control: ControlPlane, node: Node) -> None:
        super().__init__(place, control)
        self.inside, self.node = place, node


def control_plane_tools(version: str | None = None) -> ControlPlaneTools:
    """The programs of a control plane. Raises `ToolsMissingError`."""
    return ControlPlaneTools.find(version or kubernetes_version())


def node_tools(version: str | None = None) -> NodeTools:
    """The programs of a node. Raises `ToolsMissingError`, and `UnavailableError` without the rights for namespaces."""
    if problem := missing_rights():
        raise UnavailableError(f"a node cannot run here: {problem}")
    control_plane_tools(version)
    return NodeTools.find(version or kubernetes_version())


@contextmanager
def control_plane(
    options: ControlPlaneOptions | None = None, *, place: Callable[[Path], Place] | None = None
) -> Iterator[ControlPlaneOnly]:
    """A control plane without a node: in namespaces with the rights for them, else on loopback.

    Raises `ToolsMissingError`.
    """
    options = options or ControlPlaneOptions()
    tools = control_plane_tools(options.kubernetes)
    with _place(place or (Loopback if missing_rights() else Namespaces)) as here:
        control = ControlPlane(here, tools, options)
        control.launch()
        control.wait_ready()
        yield ControlPlaneOnly(here, control)


@contextmanager
def cluster(options: ControlPlaneOptions | None = None, node: NodeOptions | None = None) -> Iterator[Cluster]:
    """A cluster with one node that runs containers.

    Raises `ToolsMissingError`, and `UnavailableError` without the rights for namespaces.
    """
    options = options or ControlPlaneOptions()
    on_node, tools = node_tools(options.kubernetes), control_plane_tools(options.kubernetes)
    with _place(Namespaces) as here:
        control = ControlPlane(here, tools, options)
        worker = Node(here, on_node, node or NodeOptions(), control)
        worker.launch()
        control.launch()
        control.wait_ready()
        worker.wait_ready()
        yield Cluster(here, control, worker)


@contextmanager
def _place(kind: Callable[[Path], P]) -> Iterator[P]:
    """A place with a new folder; leftovers of killed runs are removed first.

    At the end its programs are stopped and the folder is removed. If `$CLUSTER_LOGS` is set, the logs are kept there.
    """
    leftovers.sweep()
    folder = leftovers.new_folder()
    try:
        with closing(kind(folder)) as place:
            yield place
    finally:
        if kept := os.environ.get("CLUSTER_LOGS"):
            shutil.copytree(folder / "logs", Path(kept) / folder.name, dirs_exist_ok=True)
        leftovers.remove_folder(folder)
