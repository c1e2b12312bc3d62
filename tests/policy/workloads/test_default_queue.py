"""Kueue's default queue: where the settings name it, the nodes of Jobs without a queue are chosen later, offline."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.placement.facts import UNKNOWN, Facts
from webhook.policy.settings.settings import Settings, Workloads
from webhook.policy.verdict import Decision, Verdict

TEMPLATE = {"spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": 2}}}]}}
JOB = {"template": TEMPLATE}
REASON = "queued: the default queue chooses the nodes of its pods"


def verdict(
    kind: str, spec: dict[str, Any], setting: bool | None, *, offline: bool = True, facts: Facts = UNKNOWN
) -> Verdict:
    group = "apps" if kind == "Deployment" else "batch"
    manifest = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}
    evaluator = OfflineEvaluator.of(Settings(workloads=Workloads(default_queue=setting)), facts)
    return evaluator.evaluate(manifest, group, kind, RequestContext("default", groups=None if offline else ()))


@pytest.mark.parametrize(("kind", "spec"), [("Job", JOB), ("CronJob", {"jobTemplate": {"spec": JOB}})])
def test_default_queue_makes_excess_of_job_a_warning(kind: str, spec: dict[str, Any]) -> None:
    queued = verdict(kind, spec, setting=True)
    assert (queued.decision, queued.reason) == (Decision.WARNED, REASON)
    assert "nodes chosen later" in queued.findings[0].message


def test_server_reads_the_label_and_not_the_setting() -> None:
    assert verdict("Job", JOB, setting=True, offline=False).decision is Decision.DENIED


@pytest.mark.parametrize(
    ("namespace", "setting", "decision"),
    [
        ("default", None, Decision.WARNED),
        ("other", None, Decision.DENIED),
        ("default", False, Decision.DENIED),
        ("other", True, Decision.WARNED),
    ],
)
def test_default_queue_of_facts_counts_in_its_namespace_unless_settings_decide(
    namespace: str, setting: bool | None, decision: Decision
) -> None:
    assert verdict("Job", JOB, setting, facts=Facts(default_queues=(namespace,))).decision is decision


def test_server_ignores_default_queue_of_facts() -> None:
    assert (
        verdict("Job", JOB, None, offline=False, facts=Facts(default_queues=("default",))).decision is Decision.DENIED
    )


def test_default_queue_takes_no_deployment() -> None:
    assert verdict("Deployment", {"selector": {}, "template": TEMPLATE}, setting=True).decision is Decision.DENIED
