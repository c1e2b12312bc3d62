"""The chart's webhook configurations on a control plane, with the product as a process behind them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.chart.render import FULLNAME, only
from tests.cluster.harness.cluster import control_plane
from tests.cluster.harness.hooks import MUTATING, VALIDATING, is_mutated, local_webhook_process, rejection
from tests.cluster.harness.manifests import CLASSES, container, pod
from tests.cluster.harness.waiting import wait_for
from tests.cluster.harness.webhook_manifests import NO_GUARD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import ControlPlaneOnly
    from tests.cluster.harness.hooks import LocalWebhook

CONFIGURATIONS = {MUTATING: "MutatingWebhookConfiguration", VALIDATING: "ValidatingWebhookConfiguration"}
TWO = 'GPS001 container "main" asks for 2 of "nvidia.com/gpu"'


@contextmanager
def gpu_control_plane() -> Iterator[ControlPlaneOnly]:
    """A control plane without hooks that has the runtime class `nvidia`. Raises `ToolsMissingError`."""
    with control_plane() as running:
        running.api.create(CLASSES, {"metadata": {"name": "nvidia"}, "handler": "nvidia"})
        yield running


@contextmanager
def chart_hooks(
    running: ControlPlaneOnly,
    settings: Object | None = None,
    webhooks: Object | None = None,
    probed: str = "default",
) -> Iterator[LocalWebhook]:
    """The configurations as the chart renders them, in force, with the product as a process behind them.

    `settings` are those of the process and of the chart's `config`, `webhooks` is that section of the chart's values.
    Pods in the namespace `probed` show that the configurations are in force.
    """
    values = {"config": settings or {}, "webhooks": webhooks or {}, "guard": NO_GUARD}
    two, dry = pod("probe", container(gpus=2)), f"/api/v1/namespaces/{probed}/pods?dryRun=All"
    with local_webhook_process(running, settings=settings or {}) as beside:
        try:
            for path, kind in CONFIGURATIONS.items():
                rendered = only(kind, values)
                entries = [{**entry, "clientConfig": beside.client_config(entry)} for entry in rendered["webhooks"]]
                running.api.create(path, {**rendered, "webhooks": entries})
            wait_for("the hooks to be in force", lambda: TWO in rejection(running, two, probed))
            if (settings or {}).get("injections", {}).get("mode") != "report":
                wait_for("pods to be completed", lambda: is_mutated(running.api.create(dry, pod("probe"))))
            yield beside
        finally:
            for path in CONFIGURATIONS:
                if running.api.find(f"{path}/{FULLNAME}") is not None:
                    running.api.delete(f"{path}/{FULLNAME}")
            wait_for("the hooks to be forgotten", lambda: rejection(running, two, probed) == "")
