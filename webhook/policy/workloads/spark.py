"""Spark Operator (kubeflow/spark-operator, `api`)."""

from __future__ import annotations

from webhook.policy.pods.pod import INIT
from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import EVERY, Assembly, Part, PodPath

_GROUP, _VERSIONS = "sparkoperator.k8s.io", ("v1beta2",)
_PARTS = (Part(("initContainers", EVERY), kind=INIT), Part(("gpu",), "sparkGpu"), Part(("sidecars", EVERY)))


def _application(*spec: str) -> tuple[PodPath, ...]:
    """The paths of a SparkApplicationSpec."""
    return tuple(
        path
        for role in ("driver", "executor")
        for path in (
            PodPath((*spec, role), Assembly(_PARTS, (spec, (*spec, role)))),
            PodPath((*spec, role, "template")),
        )
    )


KINDS = (
    Kind(_GROUP, "SparkApplication", _application("spec"), "sparkapplications", _VERSIONS),
    Kind(
        _GROUP,
        "ScheduledSparkApplication",
        _application("spec", "template"),
        "scheduledsparkapplications",
        _VERSIONS,
        suspended=(("spec", "template", "suspend"),),
    ),
    Kind(
        _GROUP,
        "SparkConnect",
        (PodPath(("spec", "server", "template")), PodPath(("spec", "executor", "template"))),
        "sparkconnects",
        ("v1alpha1",),
        suspended=(),
    ),
)
"""The kinds of the preset."""
