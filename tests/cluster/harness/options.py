"""Options of a test cluster."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.cluster.harness.tools import kubernetes_version

if TYPE_CHECKING:
    from collections.abc import Mapping


WITHOUT_TYPE_CHECKS = "--controllers=*,-validatingadmissionpolicy-status-controller"
"""The controller compiles each expression of a policy again for each kind, to warn of types in the policy's status."""


def mps(replicas: int = 10, *, rename: bool = False) -> dict[str, Any]:
    """Device plugin configuration: every GPU shared through MPS, with `rename` as `nvidia.com/gpu.shared`."""
    return _shared("mps", replicas, rename=rename)


def time_slicing(replicas: int = 10, *, rename: bool = False, fail_requests: bool = False) -> dict[str, Any]:
    """Device plugin configuration: every GPU shared by time slicing.

    With `fail_requests` the plugin rejects requests for more than one replica (`failRequestsGreaterThanOne`).
    """
    return _shared("timeSlicing", replicas, rename=rename, failRequestsGreaterThanOne=fail_requests)


def whole() -> dict[str, Any]:
    """Device plugin configuration: every GPU whole."""
    return {"version": "v1"}


def _shared(strategy: str, replicas: int, *, rename: bool, **options: bool) -> dict[str, Any]:
    resource = {"name": "nvidia.com/gpu", "replicas": replicas}
    sharing = {"renameByDefault": rename, "resources": [resource], **options}
    return {"version": "v1", "sharing": {strategy: sharing}}


def offers(plugin: dict[str, Any], gpus: int) -> dict[str, str]:
    """What a node offers under a configuration of the device plugin, as its status shows it."""
    for shared in plugin.get("sharing", {}).values():
        (resource,) = shared["resources"]
        name = resource["name"] + (".shared" if shared["renameByDefault"] else "")
        return {name: str(gpus * resource["replicas"])}
    return {"nvidia.com/gpu": str(gpus)}


@dataclass(frozen=True, slots=True)
class ControlPlaneOptions:
    """The version, and flags of the API server besides those that every cluster needs.

    `caller` is the certificate and its key, PEM, that the API server presents to webhooks, if any.
    """

    kubernetes: str = field(default_factory=kubernetes_version)
    admission_plugins: tuple[str, ...] = ()
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    runtime_config: tuple[str, ...] = ()
    api_server_flags: tuple[str, ...] = ()
    controller_manager_flags: tuple[str, ...] = (WITHOUT_TYPE_CHECKS,)
    caller: bytes | None = None


@dataclass(frozen=True, slots=True)
class NodeOptions:
    """Device plugin configuration (None: no plugin), its GPUs, runtime handlers beside runc, node labels."""

    plugin: dict[str, Any] | None = field(default_factory=mps)
    gpus: int = 1
    handlers: tuple[str, ...] = ("nvidia",)
    labels: Mapping[str, str] = field(default_factory=dict)
