"""The object of a release from which the policies take the mode and their parameters."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.cluster.harness.hooks import namespace
from webhook.inprocess.installation import PREFIX, SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.cluster.harness.cluster import ControlPlaneOnly

NAMESPACE, NAME = "gpushare-webhook", "gps"
INSTALLED_AS = ("--installed-as", f"{NAMESPACE}/{NAME}")
MODE = "gpushare-webhook/mode"
ACCOUNTS = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
ACCOUNT = f"{ACCOUNTS}/{NAME}{SUFFIX}"


@contextmanager
def parameters_object(running: ControlPlaneOnly, parameters: Mapping[str, str]) -> Iterator[None]:
    """The object, with the values that the webhook wrote last."""
    with namespace(running, NAMESPACE):
        annotations = {PREFIX + key: value for key, value in parameters.items()}
        running.api.create(ACCOUNTS, {"metadata": {"name": NAME + SUFFIX, "annotations": annotations}})
        yield


def set_mode(running: ControlPlaneOnly, path: str, mode: str | None) -> None:
    """Set the annotation of an emergency on the object at a path, or remove it."""
    running.api.patch(path, {"metadata": {"annotations": {MODE: mode}}})
