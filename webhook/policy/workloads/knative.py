"""Knative Serving (knative/serving, `pkg/apis/serving/v1`)."""

from __future__ import annotations

from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import PodPath

KINDS = (Kind("serving.knative.dev", "Service", (PodPath(("spec", "template")),), "services", suspended=()),)
"""The kinds of the preset."""
