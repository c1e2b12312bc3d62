"""Kubeflow Trainer v2: TrainJob and its runtimes (kubeflow/trainer, `pkg/apis/trainer/v1alpha1`).

Of a TrainJob only `spec.trainer` holds resources, in every release up to v2.3: initializers and what overrides the
runtime (`podSpecOverrides` in v2.0, `podTemplateOverrides` in v2.1, `runtimePatches` from v2.2 on) set none. The nodes
are those that the runtime chooses, and what overrides the runtime may choose others.
"""

from __future__ import annotations

from webhook.policy.pods.reading import Members
from webhook.policy.verdict import Path
from webhook.policy.workloads.counts import stated
from webhook.policy.workloads.jobset import REPLICATED_JOBS, of_replicated_job
from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import Assembly, Part, PodPath, at

_GROUP, _VERSIONS = "trainer.kubeflow.org", ("v1alpha1",)
_TRAINER = Assembly((Part((), "trainer", name="node"),))
_STEP = "trainer.kubeflow.org/trainjob-ancestor-step"


def _nodes(manifest: Members, path: Path) -> int | None:
    """The pods of a TrainJob: `numNodes`. Without it the runtime decides (v2.3)."""
    return stated(at(manifest, (*path, "numNodes")))


def _nodes_by_default(manifest: Members, path: Path) -> int | None:
    """The pods of a job of a runtime: `mlPolicy.numNodes`, 1 by default, or those of a replicated job.

    A TrainJob can ask for another number of nodes.

    `mlPolicy.numNodes` (1 by default) counts the pods of the job with the label of the trainer. With `mlPolicy.mpi`,
    launchers and nodes share them in a way that only a TrainJob settles (v2.3, `pkg/runtime/core/trainingruntime.go`
    and `pkg/runtime/framework/plugins/mpi/mpi.go`).
    """
    policy = at(manifest, ("spec", "mlPolicy"))
    if at(policy, ("mpi",)) is not None:
        return None
    if policy is not None and at(manifest, (*path[:-2], "metadata", "labels", _STEP)) == "trainer":
        return stated(at(policy, ("numNodes",)), 1)
    return of_replicated_job(manifest, path)


_JOBS = (PodPath(("spec", "template", "spec", *REPLICATED_JOBS), group="job", count=_nodes_by_default),)

_OVERRIDES = ("runtimePatches", "podTemplateOverrides", "podSpecOverrides")


def _has_overrides(manifest: Members, _path: Path) -> bool:
    """Whether a TrainJob overrides its runtime, by which it may choose the nodes of its pods."""
    return any(at(manifest, ("spec", field)) for field in _OVERRIDES)


KINDS = (
    Kind(
        _GROUP,
        "TrainJob",
        (PodPath(("spec", "trainer"), _TRAINER, group="job", count=_nodes),),
        "trainjobs",
        _VERSIONS,
        suspended=(("spec", "suspend"),),
        has_open_nodes=_has_overrides,
    ),
    Kind(
        _GROUP,
        "TrainingRuntime",
        _JOBS,
        "trainingruntimes",
        _VERSIONS,
        suspended=(),
        labels=None,
    ),
    Kind(
        _GROUP,
        "ClusterTrainingRuntime",
        _JOBS,
        "clustertrainingruntimes",
        _VERSIONS,
        namespaced=False,
        suspended=(),
        labels=None,
    ),
)
"""The kinds of the preset."""
