"""The ConfigMaps of a release, which the policies read: that of the settings, and that of the parameters."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.cluster.harness.hooks import namespace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.cluster.harness.cluster import ControlPlaneOnly

NAMESPACE, NAME = "gpushare-webhook", "gps"
INSTALLED_AS = ("--installed-as", f"{NAMESPACE}/{NAME}")
MODE = "gpushare-webhook/mode"


@contextmanager
def config_maps(running: ControlPlaneOnly, parameters: Mapping[str, str]) -> Iterator[None]:
    """Both ConfigMaps, with the values that the webhook wrote last."""
    with namespace(running, NAMESPACE) as path:
        for name, values in ((NAME, {}), (f"{NAME}-parameters", parameters)):
            running.api.create(f"{path}/configmaps", {"metadata": {"name": name}, "data": dict(values)})
        yield


def set_mode(running: ControlPlaneOnly, mode: str | None) -> None:
    """Set the annotation of an emergency on both ConfigMaps, or remove it."""
    for name in (NAME, f"{NAME}-parameters"):
        path = f"/api/v1/namespaces/{NAMESPACE}/configmaps/{name}"
        running.api.patch(path, {"metadata": {"annotations": {MODE: mode}}})
