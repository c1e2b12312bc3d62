"""What a replica of this webhook reports about itself: its metrics, read through the API server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from webhook.cluster.api_server import Rule
from webhook.cluster.objects import POD, ObjectsWithTexts
from webhook.live.doctor.seen import Replica

_PORT: Final = 8080
_VALUE: Final = r" ([0-9.e+]{1,30})$"
_DIGEST: Final = re.compile(r'^gpushare_webhook_digest\{of="settings"\}' + _VALUE, re.MULTILINE)
_ENDS: Final = re.compile(r'^gpushare_webhook_certificate_expiry_seconds\{kind="leaf"\}' + _VALUE, re.MULTILINE)


async def measured(
    objects: ObjectsWithTexts, namespace: str, replica: Replica, container: Mapping[str, Any]
) -> Replica:
    """Return a replica with the digest of its settings and the end of its certificate, where it reports them."""
    ports = {one.get("name"): one.get("containerPort") for one in container.get("ports") or ()}
    path = f"{POD.path(namespace, replica.name)}:{ports.get('health') or _PORT}/proxy/metrics"
    rule = Rule("", "pods/proxy", ("get",), namespace=namespace)
    text = await objects.text(f"metrics of pods in namespace {namespace}", path, rule)
    return replica if text is None else replica._replace(settings=_digest(text), ends=_ends(text))


def _digest(text: str) -> str | None:
    """The digest as `/readyz?verbose` shows it (webhook.server.digests)."""
    found = _DIGEST.search(text)
    try:
        return None if found is None else f"{int(float(found[1])):012x}"
    except (ValueError, OverflowError):
        return None


def _ends(text: str) -> datetime | None:
    found = _ENDS.search(text)
    try:
        return None if found is None else datetime.fromtimestamp(float(found[1]), UTC)
    except (ValueError, OverflowError, OSError):
        return None
