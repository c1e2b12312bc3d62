"""A server that takes the webhook's place: the API server believes only a certificate that the bundle verifies."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from tests.cluster.harness.hooks import VALIDATING, hooks, local_webhook_process, rejection
from tests.cluster.harness.manifests import container, pod
from webhook.pki import Authority

if TYPE_CHECKING:
    from tests.cluster.harness.cluster import ControlPlaneOnly

UNTRUSTED = "x509: certificate signed by unknown authority"


def test_certificate_of_other_authority_rejects_gpu_pods_only(running: ControlPlaneOnly) -> None:
    """The server answers that every pod with one GPU is allowed, but the API server never reads its answer."""
    other = Authority.create("tests", datetime.now(UTC), timedelta(days=1))
    with local_webhook_process(running) as impostor:
        config = replace(impostor, authority=other).client_config
        with hooks(running, config, lambda: UNTRUSTED in rejection(running, pod("one")), which=(VALIDATING,)):
            assert "failed calling webhook" in rejection(running, pod("one"))
            assert rejection(running, pod("plain", container(gpus=0))) == ""
