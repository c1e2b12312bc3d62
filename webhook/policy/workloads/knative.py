"""Knative Serving (knative/serving, `pkg/apis/serving/v1`).

A Revision is made from one of these, and is left to the check of its pods. The labels of a Service do not reach them.
"""

from __future__ import annotations

from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import PodPath

_GROUP, _TEMPLATE = "serving.knative.dev", (PodPath(("spec", "template")),)

KINDS = (
    Kind(_GROUP, "Service", _TEMPLATE, "services", suspended=(), labels=None),
    Kind(_GROUP, "Configuration", _TEMPLATE, "configurations", suspended=(), labels=None),
)
"""The kinds of the preset."""
