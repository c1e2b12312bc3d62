"""Kubeflow Notebooks (kubeflow/notebooks, `components/notebook-controller/api/v1`)."""

from __future__ import annotations

from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import PodPath

KINDS = (
    Kind(
        "kubeflow.org",
        "Notebook",
        (PodPath(("spec", "template", "spec"), "podSpec"),),
        "notebooks",
        ("v1", "v1beta1", "v1alpha1"),
        suspended=(),
    ),
)
"""The kinds of the preset."""
