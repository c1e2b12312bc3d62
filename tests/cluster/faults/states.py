"""The states of the cluster in which faults are produced, one after the other."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.cluster.faults import stack
from tests.cluster.faults.pools import GPUS, REPLICAS
from tests.cluster.harness.credentials import NODE
from tests.cluster.harness.options import time_slicing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from tests.cluster.harness.cluster import Cluster

_NODE = f"/api/v1/nodes/{NODE}"


@contextmanager
def _usual(_: Cluster) -> Iterator[None]:
    yield


@contextmanager
def _no_daemon(cluster: Cluster) -> Iterator[None]:
    """The DaemonSet of the MPS control daemon is gone."""
    cluster.api.delete(f"{stack.DAEMON_SETS}/{stack.DAEMON}")
    stack.wait_gone(cluster, stack.DAEMON)
    try:
        yield
    finally:
        cluster.api.create(stack.DAEMON_SETS, stack.daemon())
        stack.wait_ready(cluster, stack.DAEMON)


@contextmanager
def _plugin_stopped(cluster: Cluster) -> Iterator[None]:
    """The device plugin does not run: its node names its resource, and offers none."""
    with cluster.node.without_plugin():
        yield


@contextmanager
def _time_slicing(cluster: Cluster) -> Iterator[None]:
    """The plugin shares its cards by time slicing, and discovery has labelled the node so."""
    amount = GPUS * REPLICAS
    sliced, shared = (stack.discovered(amount, GPUS, strategy) for strategy in ("time-slicing", "mps"))
    with cluster.node.sharing(time_slicing(REPLICAS)):
        cluster.api.patch(_NODE, {"metadata": {"labels": sliced}})
        stack.wait_ready(cluster, stack.DAEMON, 0)
        try:
            yield
        finally:
            cluster.api.patch(_NODE, {"metadata": {"labels": shared}})


STATES: dict[str, Callable[[Cluster], AbstractContextManager[None]]] = {
    "usual": _usual,
    "two-users": _usual,
    "no-daemon": _no_daemon,
    "plugin-stopped": _plugin_stopped,
    "time-slicing": _time_slicing,
}
"""In this order. The users of pods matter to all MPS pods of a node, so that two of them come after the usual state."""
