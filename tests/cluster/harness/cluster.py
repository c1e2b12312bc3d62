"""A cluster as a context manager: with a node, or the control plane alone."""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from harness import leftovers
from harness.controlplane import ControlPlane
from harness.node import Node
from harness.options import ControlPlaneOptions, NodeOptions
from harness.place import Loopback, Namespaces, Place, missing_rights
from harness.tools import ControlPlaneTools, NodeTools

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from harness.api import Api, Kubectl


P = TypeVar("P", bound=Place)


class UnavailableError(Exception):
    """A cluster cannot be had here; the message says what is missing."""


class Cluster:
    """A running cluster: `api` and `kubectl` as administrator; `node` is None for a control plane alone."""

    def __init__(self, place: Place, control: ControlPlane, node: Node | None = None) -> None:
        self.place, self.control, self.node = place, control, node

    @property
    def api(self) -> Api:
        """Requests to the API server as administrator."""
        return self.control.api

    @property
    def kubectl(self) -> Kubectl:
        """kubectl as administrator."""
        return self.control.kubectl


@contextmanager
def control_plane(
    options: ControlPlaneOptions | None = None, *, place: Callable[[Path], Place] | None = None
) -> Iterator[Cluster]:
    """A control plane without a node: in namespaces with the rights for them, else on loopback.

    Raises `ToolsMissingError`.
    """
    options = options or ControlPlaneOptions()
    tools = ControlPlaneTools.find(options.kubernetes)
    with _place(place or (Loopback if missing_rights() else Namespaces)) as here:
        control = ControlPlane(here, tools, options)
        with ExitStack() as stops:
            stops.callback(control.stop)
            stops.callback(here.close)  # first: it ends all at once where it can
            control.launch()
            control.wait_ready()
            yield Cluster(here, control)


@contextmanager
def cluster(options: ControlPlaneOptions | None = None, node: NodeOptions | None = None) -> Iterator[Cluster]:
    """A cluster with one node that runs containers.

    Raises `ToolsMissingError`, and `UnavailableError` without the rights for namespaces.
    """
    if problem := missing_rights():
        raise UnavailableError(f"a node cannot run here: {problem}")
    options = options or ControlPlaneOptions()
    tools, node_tools = ControlPlaneTools.find(options.kubernetes), NodeTools.find(options.kubernetes)
    with _place(Namespaces) as here:
        control = ControlPlane(here, tools, options)
        worker = Node(here, node_tools, node or NodeOptions(), control)
        with ExitStack() as stops:
            stops.callback(control.stop)
            stops.callback(worker.stop)
            stops.callback(here.close)
            worker.launch()
            control.launch()
            control.wait_ready()
            worker.wait_ready()
            yield Cluster(here, control, worker)


@contextmanager
def _place(kind: Callable[[Path], P]) -> Iterator[P]:
    """A place with a fresh folder; what killed runs left is removed first.

    The folder goes at the end; its logs are kept in `$CLUSTER_LOGS` where that is set.
    """
    leftovers.sweep()
    folder = leftovers.new_folder()
    try:
        yield kind(folder)
    finally:
        if kept := os.environ.get("CLUSTER_LOGS"):
            shutil.copytree(folder / "logs", Path(kept) / folder.name, dirs_exist_ok=True)
        shutil.rmtree(folder)
