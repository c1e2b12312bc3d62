"""The settings of custom kinds: presets of well-known projects, and paths that users add."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from webhook.policy.settings.field import setting

if TYPE_CHECKING:
    from webhook.policy.settings.elements import WorkloadPath

PresetName = Literal[
    "all",
    "argo-rollouts",
    "argo-workflows",
    "jobset",
    "knative",
    "kserve",
    "kuberay",
    "leaderworkerset",
    "notebooks",
    "spark",
    "tekton",
    "trainer",
    "training-operator",
    "volcano",
]


@dataclass(frozen=True, slots=True)
class Workloads:
    """Kinds that the webhook checks besides the built-in ones."""

    presets: tuple[PresetName, ...] = setting(
        ("all",), "Presets of custom kinds that are checked; `all` stands for every one."
    )
    paths: tuple[WorkloadPath, ...] = setting((), "Where custom kinds keep their pod templates.")
