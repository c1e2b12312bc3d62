"""The values from which programs make pods while they run: no object among the manifests holds these pods."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from webhook.dryrun.search.mentions import Mention

PROGRAM_VALUES = ("values", "ProgramValues")
"""The API group and the kind, known to this project only, by which values of a program are checked as an object."""


def as_object(value: Mapping[str, Any], namespace: str = "", name: str = "") -> dict[str, Any]:
    """Values as an object with the name of the one that holds them."""
    group, kind = PROGRAM_VALUES
    return {**value, "apiVersion": f"{group}/v1", "kind": kind, "metadata": {"namespace": namespace, "name": name}}


_PROGRAMS: Mapping[str, str] = {
    # jupyterhub/zero-to-jupyterhub-k8s jupyterhub/values.yaml, jupyterhub/kubespawner kubespawner/spawner.py
    "JupyterHub": "extraResource|extra_resource_(?:limits|guarantees)",
    # dask/dask-gateway resources/helm/dask-gateway/values.yaml, dask_gateway_server/backends/kubernetes/backend.py
    "Dask Gateway": "extraContainerConfig|(?:worker|scheduler)_extra_(?:container|pod)_config",
    # gitlab-org/gitlab-runner docs/configuration/gpus.md: a patch of the pod, in TOML
    "GitLab Runner": r"runners\.kubernetes",
    # apache/airflow chart/values.yaml: the template of KubernetesExecutor
    "Airflow": r"(?<![A-Za-z/])podTemplate(?!/)|pod_template_file|pod_override",
    # dagster-io/dagster helm/dagster/templates/helpers/instance/_k8s-run-launcher.tpl
    "Dagster": "runK8sConfig|run_k8s_config|stepK8sConfig|step_k8s_config",
    # clearml/clearml-helm-charts charts/clearml-agent/values.yaml
    "ClearML": "basePodTemplate|templateOverrides",
}
"""The keys of values, and the words of texts, from which a program makes pods."""

WORDS = re.compile("|".join(_PROGRAMS.values()))


_NEAR, _LONGEST = 9, 63
"""The steps at the end of a path that are compared, and the characters of the longest: any amount may have many."""


def program_of(mention: Mention) -> str | None:
    """The program that makes pods with an amount in values of a chart; None for an amount that a template renders."""
    where = [step for step in mention.path[-_NEAR:] if isinstance(step, str) and len(step) <= _LONGEST]
    if mention.is_text:
        where.append(str(mention.value))
    for words in where:
        if WORDS.search(words):
            return next(program for program, pattern in _PROGRAMS.items() if re.search(pattern, words))
    return None
