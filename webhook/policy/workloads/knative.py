"""Knative Serving (knative/serving, `pkg/apis/serving/v1`)."""

from __future__ import annotations

from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import PodPath

_GROUP, _REVISIONS = "serving.knative.dev", (PodPath(("spec", "template")),)

KINDS = (
    Kind(_GROUP, "Service", _REVISIONS, "services", suspended=()),
    Kind(_GROUP, "Configuration", _REVISIONS, "configurations", suspended=()),
)
"""The kinds of the preset."""
