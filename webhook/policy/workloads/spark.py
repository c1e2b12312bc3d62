"""Spark Operator (kubeflow/spark-operator, `api/v1beta2` and `api/v1alpha1`).

The pod of a role gets the role's GPU, its init containers and its sidecars, and what the role's `template` says. The
template is checked on its own: the operator adds the GPU to a container of it, or replaces the amount that it has.
"""

from __future__ import annotations

import re

from webhook.policy.pods.pod import INIT
from webhook.policy.pods.reading import Members
from webhook.policy.verdict import Path
from webhook.policy.workloads.counts import stated
from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import EVERY, Assembly, Condition, Count, Part, PodPath, at, one

_GROUP, _VERSIONS = "sparkoperator.k8s.io", ("v1beta2",)


def _executors(manifest: Members, path: Path) -> int | None:
    """The executors: `instances`, 1 by default (`api/v1beta2/defaults.go`), unless Spark allocates them dynamically."""
    role = path[: path.index("executor") + 1]
    if at(manifest, (*role[:-1], "dynamicAllocation", "enabled")) is True:
        return None
    return stated(at(manifest, (*role, "instances")), 1)


def _has_selectors(*spec: str) -> Condition:
    """Whether fields that are not read with a pod choose its nodes: options of Spark, or those beside a template.

    Spark adds node selectors to those of a template (apache/spark, `BasicExecutorFeatureStep.scala`).
    """

    def condition(manifest: Members, _path: Path) -> bool:
        application = at(manifest, spec)
        conf = at(application, ("sparkConf",))
        if isinstance(conf, dict) and any(_CHOOSES_NODES.match(key) for key in conf):
            return True
        return any(
            at(application, (role, "template")) and (_selects(application) or _selects(at(application, (role,))))
            for role in ("driver", "executor")
        )

    return condition


def _selects(holder: object) -> bool:
    return bool(at(holder, ("nodeSelector",)) or at(holder, ("affinity",)))


_CHOOSES_NODES = re.compile(r"spark\.kubernetes\.(?:(?:driver|executor)\.)?(?:node\.selector\.|podTemplateFile\Z)")
"""The options of Spark that choose nodes (apache/spark, `docs/running-on-kubernetes.md`)."""


def _role(spec: tuple[str, ...], role: str, count: Count) -> tuple[PodPath, ...]:
    """The paths of a role. Its fields replace those of its template, and these the fields of the application."""
    steps = (*spec, role)
    parts = (
        Part(("initContainers", EVERY), kind=INIT),
        Part((), "spark"),
        Part(("sidecars", EVERY)),
    )
    return (
        PodPath(steps, Assembly(parts, (spec, (*steps, "template", "spec"), steps)), count=count),
        PodPath((*steps, "template"), count=count),
    )


def _application(*spec: str) -> tuple[PodPath, ...]:
    return (
        *_role(spec, "driver", one),
        *_role(spec, "executor", _executors),
    )


KINDS = (
    Kind(
        _GROUP,
        "SparkApplication",
        _application("spec"),
        "sparkapplications",
        _VERSIONS,
        suspended=(("spec", "suspend"),),
        has_open_nodes=_has_selectors("spec"),
    ),
    Kind(
        _GROUP,
        "ScheduledSparkApplication",
        _application("spec", "template"),
        "scheduledsparkapplications",
        _VERSIONS,
        suspended=(("spec", "template", "suspend"),),  # its own `suspend` only stops its schedule
        has_open_nodes=_has_selectors("spec", "template"),
    ),
    Kind(
        _GROUP,
        "SparkConnect",
        (PodPath(("spec", "server", "template")), PodPath(("spec", "executor", "template"), count=_executors)),
        "sparkconnects",
        ("v1alpha1",),
        suspended=(),
        has_open_nodes=_has_selectors("spec"),
    ),
)
"""The kinds of the preset."""
