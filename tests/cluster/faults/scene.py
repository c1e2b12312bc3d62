"""The cluster in which the faults of `why` are produced: all faults of a state at once, then awaited together."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING

from tests.cluster.faults import stack
from tests.cluster.faults.guards import guards
from tests.cluster.faults.pools import GPUS, REPLICAS, pools
from tests.cluster.faults.starting import ABSENT, BROKEN
from tests.cluster.harness import cluster as clusters
from tests.cluster.harness.credentials import NODE
from tests.cluster.harness.manifests import CLASSES
from tests.cluster.harness.options import ControlPlaneOptions, NodeOptions, mps, time_slicing
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

    from tests.cluster.faults.fault import Fault
    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.workspace import Workspace

FLAGS = ("--node-monitor-grace-period=1h",)
"""The nodes that are objects alone send no heartbeats."""

SECONDS = 60


@contextmanager
def scene() -> Iterator[Cluster]:
    """A cluster with the node side installed, nodes of several kinds, runtime classes, and admission that refuses."""
    options = ControlPlaneOptions(controller_manager_flags=FLAGS)
    labels = stack.discovered(GPUS * REPLICAS, GPUS)
    node = NodeOptions(plugin=mps(REPLICAS), gpus=GPUS, handlers=("nvidia", BROKEN), labels=labels)
    with clusters.cluster(options, node) as cluster:
        _break_handler(cluster)
        stack.install(cluster, mps(REPLICAS))
        with pools(cluster), guards(cluster):
            yield cluster


def _break_handler(cluster: Cluster) -> None:
    """Let a handler's runtime fail, and add runtime classes for it and for one that the runtime does not know."""
    (cluster.place.folder / "containers" / f"runtime-{BROKEN}").write_text("#!/bin/sh\nexit 1\n")
    for name in (BROKEN, ABSENT):
        cluster.api.create(CLASSES, {"metadata": {"name": name}, "handler": name})


@contextmanager
def _time_slicing(cluster: Cluster) -> Iterator[None]:
    """The plugin shares its cards by time slicing, as its ConfigMap says, and discovery has labelled the node so."""
    sharing = time_slicing(REPLICAS)
    labels = {"metadata": {"labels": stack.discovered(GPUS * REPLICAS, GPUS, "time-slicing")}}
    data = {"data": stack.config_map(default=sharing)["data"]}
    with (
        cluster.node.sharing(sharing),
        cluster.api.patched(f"{stack.CONFIG_MAPS}/{stack.CONFIGS}", data),
        cluster.api.patched(f"/api/v1/nodes/{NODE}", labels),
    ):
        stack.wait_ready(cluster, stack.DAEMON, 0)
        yield


_PASCAL = {"nvidia.com/gpu.family": "pascal", "nvidia.com/gpu.compute.major": "6"}

STATES: dict[str, Callable[[Cluster], AbstractContextManager[None]]] = {
    "usual": lambda _: nullcontext(),
    "two-users": lambda _: nullcontext(),
    "no-daemon": lambda cluster: stack.without(cluster, stack.DAEMON),
    # The node names its resource, and offers none.
    "plugin-stopped": lambda cluster: cluster.node.without_plugin(),
    "time-slicing": _time_slicing,
    "older-than-volta": lambda cluster: cluster.api.patched(f"/api/v1/nodes/{NODE}", {"metadata": {"labels": _PASCAL}}),
}
"""The states of the cluster in which faults are produced, in this order.

The users of pods matter to all MPS pods of a node, so that two of them come after the usual state.
"""


class Stage:
    """The state that the cluster is in, with its faults produced; at the end of the context it is undone."""

    def __init__(self, cluster: Cluster, faults: Iterable[Fault]) -> None:
        self._cluster, self._faults = cluster, tuple(faults)
        self._entered = ExitStack()
        self._state = ""
        self._late: dict[str, TimeoutError] = {}

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *_: object) -> None:
        self._entered.close()

    def show(self, fault: Fault) -> None:
        """Bring the cluster into the state of a fault, which then shows. Raises `TimeoutError` if it does not."""
        if fault.state != self._state:
            self._entered.close()
            self._state = fault.state
            self._entered.enter_context(STATES[fault.state](self._cluster))
            self._late = _produce(self._cluster, [one for one in self._faults if one.state == fault.state])
        if fault.name in self._late:
            raise self._late[fault.name]


def _produce(cluster: Cluster, faults: Iterable[Fault]) -> dict[str, TimeoutError]:
    """Produce faults and wait until they show; those that do not show in time, by name."""
    spaces, late = {}, {}
    for fault in faults:
        try:
            spaces[fault] = fault.produce(cluster)
        except TimeoutError as problem:
            late[fault.name] = problem
    return late | dict(_late(spaces))


def _late(spaces: dict[Fault, Workspace]) -> Iterator[tuple[str, TimeoutError]]:
    """Wait for all faults together; those that are late."""
    waiting = dict(spaces)

    def all_show() -> bool:
        for fault in [one for one, space in waiting.items() if one.shows(space)]:
            del waiting[fault]
        return not waiting

    try:
        wait_for("the faults", all_show, seconds=SECONDS, every=0.25)
    except TimeoutError:
        for fault, space in waiting.items():
            events = space.api.items(f"/api/v1/namespaces/{space.name}/events")
            seen = [f"{one['reason']}: {one.get('message')}" for one in events]
            statuses = [one["status"] for one in space.api.items(space.pods)]
            yield fault.name, TimeoutError(f"{fault.name} does not show: {seen} {statuses}")
