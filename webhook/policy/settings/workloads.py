"""The settings of custom kinds: presets of well-known projects, and paths that users add."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from webhook.policy.settings.field import setting
from webhook.policy.settings.names import ApiGroup, ApiVersion, KindName, ResourcePlural, TemplatePath

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
class WorkloadPath:
    """Where a custom kind keeps a pod template."""

    kind: KindName = field(metadata={"description": "The kind, such as `JobSet`."})
    path: TemplatePath = field(
        metadata={
            "description": "The path, such as `spec.replicatedJobs[*].template.spec.template`; "
            "`[*]` stands for every element of a list, `.*` for every member of a mapping."
        }
    )
    group: ApiGroup = setting("", "The kind's API group; empty for the core group.")
    holds: Literal["template", "podSpec", "container", "resources"] = setting(
        "template", "What the path leads to: a pod template, a pod spec, a container, or the resources of one."
    )
    resource: ResourcePlural | None = setting(
        None, "The kind's name in the API's paths, for the chart. null: the kind in lower case with an `s`."
    )
    versions: tuple[ApiVersion, ...] = setting((), "The kind's versions, for the chart. Empty: all versions.")
    scope: Literal["Namespaced", "Cluster"] = setting(
        "Namespaced", "Where the kind's objects live. Every path of one kind must say the same."
    )


@dataclass(frozen=True, slots=True)
class Workloads:
    """Kinds that the webhook checks besides the built-in ones."""

    presets: tuple[PresetName, ...] = setting(
        ("all",), "Presets of custom kinds that are checked; `all` stands for every one."
    )
    paths: tuple[WorkloadPath, ...] = setting((), "Where custom kinds keep their pod templates.")
