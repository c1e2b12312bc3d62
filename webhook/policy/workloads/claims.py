"""How the claims of dynamic resource allocation share the devices for which they ask.

NVIDIA's driver runs an MPS daemon for each claim whose parameters say so (kubernetes-sigs/dra-driver-nvidia-gpu at
95932046, `api/nvidia.com/resource/v1beta1/sharing.go`). Drivers may also give parts of a device, by their capacity
(KEP-5075). A pod names its claim, or the template of its claim, and does not say how the devices are shared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webhook.policy.pods.reading import Members
from webhook.policy.workloads.paths import at

_DEVICES = {"ResourceClaim": ("spec", "devices"), "ResourceClaimTemplate": ("spec", "spec", "devices")}


def how_claimed(manifest: Members, group: str, kind: str) -> str | None:
    """How a claim, or a template of claims, shares its devices; None where it names no way, and for other kinds."""
    if group != "resource.k8s.io" or kind not in _DEVICES:
        return None
    devices = at(manifest, _DEVICES[kind])
    if any(at(one, ("opaque", "parameters", "sharing", "strategy")) == "MPS" for one in _elements(devices, "config")):
        return "it claims devices that are shared through MPS"
    if any(at(one, ("capacity", "requests")) for one in _requests(devices)):
        return "it claims parts of devices by their class"
    return None


def _requests(devices: Any) -> Iterator[Any]:
    """The requests of a claim, and their alternatives. In v1beta1, a request has the fields of `exactly` itself."""
    for one in _elements(devices, "requests"):
        yield one
        yield at(one, ("exactly",))
        yield from _elements(one, "firstAvailable")


def _elements(holder: Any, field: str) -> list[Any]:
    """A list in a mapping; empty where it is something else, because the API server rejects the claim then."""
    found = at(holder, (field,))
    return found if isinstance(found, list) else []
