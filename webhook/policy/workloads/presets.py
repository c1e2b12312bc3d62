"""The presets: where the custom kinds of well-known projects keep their pods."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from webhook.policy.settings.workloads import PresetName, Workloads
from webhook.policy.workloads import (
    argo,
    jobset,
    knative,
    kserve,
    kuberay,
    leaderworkerset,
    notebooks,
    spark,
    tekton,
    trainer,
    training_operator,
    volcano,
)
from webhook.policy.workloads.kinds import BUILT_IN, Kind, Kinds, by_name, with_paths


class Preset(NamedTuple):
    """The kinds of one project. `title` is the project's name."""

    name: PresetName
    title: str
    kinds: tuple[Kind, ...]


PRESETS: tuple[Preset, ...] = (
    Preset("argo-rollouts", "Argo Rollouts", argo.ROLLOUTS),
    Preset("argo-workflows", "Argo Workflows", argo.WORKFLOWS),
    Preset("jobset", "JobSet", jobset.KINDS),
    Preset("knative", "Knative Serving", knative.KINDS),
    Preset("kserve", "KServe", kserve.KINDS),
    Preset("kuberay", "KubeRay", kuberay.KINDS),
    Preset("leaderworkerset", "LeaderWorkerSet", leaderworkerset.KINDS),
    Preset("notebooks", "Kubeflow Notebooks", notebooks.KINDS),
    Preset("spark", "Kubeflow Spark Operator", spark.KINDS),
    Preset("tekton", "Tekton Pipelines", tekton.KINDS),
    Preset("trainer", "Kubeflow Trainer", trainer.KINDS),
    Preset("training-operator", "Kubeflow Training Operator", training_operator.KINDS),
    Preset("volcano", "Volcano", volcano.KINDS),
)


def kinds_with(workloads: Workloads) -> Kinds:
    """The built-in kinds, those of the presets that the settings name, and those that the settings add."""
    return with_paths({**BUILT_IN, **by_name(_of_presets(workloads.presets))}, workloads.paths)


def _of_presets(names: Collection[PresetName]) -> Iterable[Kind]:
    return (kind for preset in PRESETS if "all" in names or preset.name in names for kind in preset.kinds)
