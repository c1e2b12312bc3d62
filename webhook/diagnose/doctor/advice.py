"""Remedies about a DaemonSet of the GPU stack, or about an installation of the webhook, by templates."""

from __future__ import annotations

from typing import Any

from webhook.cluster.installations import Installation
from webhook.cluster.stack import Program
from webhook.diagnose.remedy import Remedy, filled
from webhook.diagnose.words import reference


def advice(template: str, one: Program | Installation | None = None, **names: Any) -> Remedy:
    """Fill a template (`remedy.filled`). {object} is the DaemonSet, or the Deployment, and {namespace} is its own."""
    if one is not None:
        kind = "DaemonSet" if isinstance(one, Program) else "Deployment"
        names = {"namespace": one.namespace, "object": [reference(kind, one.name)], **names}
    return filled(template, names.__getitem__)
