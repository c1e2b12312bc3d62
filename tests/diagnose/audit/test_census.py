"""Live objects are checked once, by their topmost owner's template, and counted in its line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from tests.cli.cluster import FakeCluster
from tests.diagnose.both import both_ways, put
from tests.diagnose.objects import metadata, pod, spec, workload
from webhook.cluster import objects as kinds
from webhook.cluster.objects import Kind, LiveObjects, Object, Objects
from webhook.diagnose.audit import Audit, Audited, data, label, served, take
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.settings.settings import Settings

PODS, DEPLOYMENTS, REPLICA_SETS = kinds.POD, kinds.DEPLOYMENT, kinds.REPLICA_SET
JOBS, CRON_JOBS = kinds.JOB, kinds.CRON_JOB
ROLLOUTS = Kind("Rollout", "rollouts", "argoproj.io", "v1alpha1")

OF_DEPLOYMENT, OF_REPLICA_SET = ("apps/v1", "Deployment", "llm"), ("apps/v1", "ReplicaSet", "llm-1")


class Discovery(LiveObjects):
    """A STAND-IN for the documents of an API server."""

    def __init__(self, documents: Mapping[str, Object]) -> None:
        self._documents = dict(documents)

    async def document(self, path: str) -> Object | None:
        return self._documents.get(path)


async def rows(
    objects: Mapping[Kind, Iterable[Object]],
    forbidden: Iterable[Kind] = (),
    namespace: str | None = None,
    extra: Iterable[Kind] = (),
    evaluator: OfflineEvaluator | None = None,
) -> list[Audited]:
    world = evaluator or OfflineEvaluator.of(Settings())
    known = [*extra, *await served(Discovery({}), world.kinds)]
    cluster = FakeCluster(refused={kind.path(): 403 for kind in forbidden})
    for kind, found in objects.items():
        for one in found:
            put(cluster, kind, one)

    async def ask(stored: Objects) -> list[Audited]:
        return await take(stored, [world], known, namespace, {})

    return await both_ways(cluster, ask)


def where(row: Audited) -> str:
    return f"{row.subject.namespace}/{row.subject.kind}/{row.subject.name}"


def shown(found: Iterable[Audited]) -> list[tuple[str, int, str, str]]:
    return [(where(row), row.pods, row.by_pod, label(row.verdicts[0])) for row in found]


async def test_pods_count_in_line_of_deployment() -> None:
    pods = [pod(f"llm-1-{number}", 2, OF_REPLICA_SET) for number in range(5)]
    former = workload("llm-0", 4, OF_DEPLOYMENT)
    former["spec"]["replicas"] = 0
    found = await rows(
        {
            DEPLOYMENTS: [workload("llm", 2)],
            REPLICA_SETS: [workload("llm-1", 2, OF_DEPLOYMENT), former],
            PODS: pods,
        }
    )
    assert shown(found) == [("team-a/Deployment/llm", 5, "", "denied")]
    assert found[0].verdicts[0].findings[0].path[:3] == ("spec", "template", "spec")


async def test_child_with_findings_that_its_owner_lacks_has_a_row() -> None:
    found = await rows(
        {
            DEPLOYMENTS: [workload("llm", 1)],
            REPLICA_SETS: [workload("llm-1", 2, OF_DEPLOYMENT)],
            PODS: [pod("llm-1-a", 2, OF_REPLICA_SET), pod("llm-1-b", 3, OF_REPLICA_SET)],
        }
    )
    assert shown(found) == [
        ("team-a/Deployment/llm", 0, "", "allowed"),
        ("team-a/ReplicaSet/llm-1", 2, "", "denied"),
    ]


@pytest.mark.parametrize("owner", [OF_DEPLOYMENT, ("batch/v1", "CronJob", "llm"), ("v1", "PodTemplate", "llm")])
async def test_owner_of_kind_that_makes_no_pods_hides_no_pod(owner: tuple[str, str, str]) -> None:
    template = {"metadata": metadata("llm"), "template": {"spec": spec(2)}}
    cron = {"metadata": metadata("llm"), "spec": {"jobTemplate": {"spec": workload("j", 2)["spec"]}}}
    objects = {DEPLOYMENTS: [workload("llm", 2)], CRON_JOBS: [cron], Kind("PodTemplate", "podtemplates"): [template]}
    found = await rows({**objects, PODS: [pod("bare", 2, owner)]})
    assert ("team-a/Pod/bare", 1, "", "denied") in shown(found)


async def test_job_that_names_deployment_as_owner_is_checked() -> None:
    found = await rows({DEPLOYMENTS: [workload("llm", 0)], JOBS: [workload("j", 2, OF_DEPLOYMENT)]})
    assert shown(found) == [("team-a/Deployment/llm", 0, "", "allowed"), ("team-a/Job/j", 0, "", "denied")]


HARMLESS: dict[str, dict[str, Any]] = {
    "scheduler and admission plugins": {
        "nodeName": "gpu-1",
        "serviceAccountName": "default",
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
    },
    "affinity of a DaemonSet's controller": {
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gpu-1"]}]}
                    ]
                }
            }
        }
    },
    "host name": {"hostname": "llm-0", "subdomain": "llm"},
}


@pytest.mark.parametrize("gpus", [0, 1, 2])
@pytest.mark.parametrize("edits", HARMLESS.values(), ids=HARMLESS)
async def test_pod_with_what_a_cluster_adds_counts_in_line_of_owner(edits: dict[str, Any], gpus: int) -> None:
    made = pod("llm-1-a", gpus, OF_REPLICA_SET)
    made["spec"] |= edits
    made["spec"]["containers"].append({"name": "sidecar", "image": "proxy"})
    (row,) = await rows({REPLICA_SETS: [workload("llm-1", gpus)], PODS: [made]})
    assert (where(row), row.pods, row.by_pod) == ("team-a/ReplicaSet/llm-1", 1, "")


HIDING: dict[str, dict[str, Any]] = {
    "another container asks": {"containers": [*spec(0)["containers"], *spec(2, "more")["containers"]]},
    "an init container asks": {"initContainers": spec(2, "init")["containers"]},
    "a variable reaches all GPUs": {
        "containers": [{"name": "train", "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}]
    },
}


@pytest.mark.parametrize("edits", HIDING.values(), ids=HIDING)
async def test_pod_that_differs_from_template_of_owner_is_checked(edits: dict[str, Any]) -> None:
    made = pod("llm-1-a", 0, OF_REPLICA_SET)
    made["spec"] |= edits
    found = await rows({REPLICA_SETS: [workload("llm-1", 0)], PODS: [made, pod("llm-1-b", 0, OF_REPLICA_SET)]})
    own = [one for one in shown(found) if one[2] == "llm-1-a"]
    assert [(where, pods) for where, pods, *_ in own] == [("team-a/ReplicaSet/llm-1", 1)]
    assert own[0][3] != "allowed"
    assert ("team-a/ReplicaSet/llm-1", 1, "", "allowed") in shown(found)


async def test_pods_of_one_template_are_evaluated_once() -> None:
    checked = []

    class Counting(OfflineEvaluator):
        def pods(self, manifest: Any, group: str, kind: str) -> Any:
            checked.append(manifest["metadata"]["name"])
            return super().pods(manifest, group, kind)

    evaluator = Counting.of(Settings())
    pods = [pod(f"llm-1-{number}", 2, OF_REPLICA_SET, node=f"gpu-{number}") for number in range(50)]
    for number, one in enumerate(pods):
        volume = f"kube-api-access-{number:05}"
        one["spec"]["volumes"] = [{"name": volume, "projected": {"sources": []}}]
    (row,) = await rows({REPLICA_SETS: [workload("llm-1", 2)], PODS: pods}, evaluator=evaluator)
    assert (row.pods, checked) == (50, ["llm-1", "llm-1-0"] * 2)  # asked both ways


async def test_replica_set_is_checked_where_deployments_cannot_be_read() -> None:
    objects = {REPLICA_SETS: [workload("llm-1", 2, OF_DEPLOYMENT)], PODS: [pod("llm-1-a", 2, OF_REPLICA_SET)]}
    found = await rows(objects, forbidden=[DEPLOYMENTS])
    assert shown(found) == [("team-a/ReplicaSet/llm-1", 1, "", "denied")]


async def test_job_of_cron_job_belongs_to_it() -> None:
    cron = {"metadata": metadata("nightly"), "spec": {"jobTemplate": {"spec": workload("j", 2)["spec"]}}}
    found = await rows(
        {
            CRON_JOBS: [cron],
            JOBS: [workload("nightly-1", 2, ("batch/v1", "CronJob", "nightly"))],
            PODS: [pod("nightly-1-x", 2, ("batch/v1", "Job", "nightly-1"), phase="Succeeded")],
        }
    )
    assert shown(found) == [("team-a/CronJob/nightly", 1, "", "denied")]


async def test_pods_of_unknown_owner_share_line_while_their_outcomes_are_equal() -> None:
    owner = ("example.com/v1", "Trainer", "bert")
    pods = [*(pod(f"bert-{number}", 2, owner) for number in range(3)), pod("bert-9", 1, owner)]
    assert shown(await rows({PODS: pods})) == [
        ("team-a/Trainer/bert", 3, "bert-0", "denied"),
        ("team-a/Trainer/bert", 1, "bert-9", "allowed"),
    ]


async def test_namespace_limits_what_is_read() -> None:
    pods = [pod("a", 2), pod("b", 2, namespace="team-b")]
    assert shown(await rows({PODS: pods}, namespace="team-b")) == [("team-b/Pod/b", 1, "", "denied")]


async def test_malformed_object_is_an_error() -> None:
    broken = workload("llm", 2)
    broken["spec"]["template"]["spec"]["containers"] = {}
    (row,) = await rows({DEPLOYMENTS: [broken]})
    assert (label(row.verdicts[0]), row.verdicts[0].reason.partition(":")[0]) == (
        "error",
        "spec.template.spec.containers",
    )
    assert Audit((row,)).exit_code(0) == 2
    assert data(row.verdicts[0])["problem"] == row.verdicts[0].reason


async def test_malformed_pods_are_rows() -> None:
    listed, noted = pod("listed"), pod("noted", metadata={"annotations": ["x"]})
    listed["spec"] = [{"nodeName": "gpu-1"}]
    odd = pod("odd", 1, (["v1"], {"kind": "x"}, 5))  # type: ignore[arg-type]
    found = shown(await rows({PODS: [listed, noted, odd]}))
    assert [(name, said) for name, _, _, said in found if said == "error"] == [
        ("team-a/Pod/listed", "error"),
        ("team-a/Pod/noted", "error"),
    ]
    assert sum(pods for _, pods, _, _ in found) == 3


async def test_pod_has_a_row_where_its_exemption_is_not_that_of_its_owner() -> None:
    windows = pod("llm-1-a", 1, OF_REPLICA_SET, nodeSelector={"kubernetes.io/os": "windows"})
    found = await rows({REPLICA_SETS: [workload("llm-1", 1)], PODS: [windows, pod("llm-1-b", 1, OF_REPLICA_SET)]})
    assert shown(found) == [
        ("team-a/ReplicaSet/llm-1", 1, "", "allowed"),
        ("team-a/ReplicaSet/llm-1", 1, "llm-1-a", "allowed"),
    ]


async def test_cluster_scoped_kind_is_not_of_one_namespace() -> None:
    runtime = Kind("ClusterRuntime", "runtimes", "serving.kserve.io", "v1", False)
    assert await rows({runtime: [workload("x")]}, namespace="team-a", extra=[runtime]) == []


async def test_exempt_namespace_is_said() -> None:
    (row,) = await rows({PODS: [pod("a", 2, namespace="kube-system")]})
    assert label(row.verdicts[0]) == "allowed"
    assert row.verdicts[0].reason == "exempt: the namespace is listed in exempt.namespaces"


async def test_mirror_pod_is_exempt_only_with_its_node_as_owner() -> None:
    marked = {"annotations": {"kubernetes.io/config.mirror": "x"}}
    mirrored, forged = pod("static", 2, ("v1", "Node", "gpu-1"), metadata=marked), pod("forged", 2, metadata=marked)
    assert shown(await rows({PODS: [mirrored, forged]})) == [
        ("team-a/Pod/forged", 1, "", "denied"),
        ("team-a/Pod/static", 1, "", "allowed"),
    ]


async def test_custom_kind_owns_replica_set() -> None:
    objects: dict[Kind, list[Any]] = {
        ROLLOUTS: [workload("llm", 2)],
        REPLICA_SETS: [workload("llm-1", 2, ("argoproj.io/v1alpha1", "Rollout", "llm"))],
        PODS: [pod("llm-1-a", 2, OF_REPLICA_SET)],
    }
    (row,) = await rows(objects, extra=[ROLLOUTS])
    assert (where(row), row.pods, row.subject.api_version) == ("team-a/Rollout/llm", 1, "argoproj.io/v1alpha1")


async def test_pods_of_a_job_count_in_line_of_its_cron_job() -> None:
    of_cron_job, of_job = ("batch/v1", "CronJob", "nightly"), ("batch/v1", "Job", "nightly-1")
    cron = {"metadata": metadata("nightly"), "spec": {"jobTemplate": {"spec": workload("j", 2)["spec"]}}}
    job = {"metadata": metadata("nightly-1", owner=of_cron_job), "spec": workload("j", 2)["spec"]}
    found = await rows({CRON_JOBS: [cron], JOBS: [job], PODS: [pod("nightly-1-a", 2, of_job)]})
    assert shown(found) == [("team-a/CronJob/nightly", 1, "", "denied")]


@pytest.mark.parametrize("is_known", [True, False])
async def test_pods_that_a_custom_kind_makes_itself_are_in_its_line(*, is_known: bool) -> None:
    owner = ("argoproj.io/v1alpha1", "Rollout", "llm")
    found = await rows(
        {ROLLOUTS: [workload("llm", 2)], PODS: [pod(f"llm-{number}", 2, owner) for number in range(3)]},
        extra=[ROLLOUTS] if is_known else (),
    )
    assert shown(found) == [("team-a/Rollout/llm", 3, "" if is_known else "llm-0", "denied")]


async def test_owners_in_a_circle_end() -> None:
    objects = {REPLICA_SETS: [workload("llm-1", 2, ("apps/v1", "ReplicaSet", "llm-1"))]}
    assert shown(await rows(objects)) == [("team-a/ReplicaSet/llm-1", 0, "", "denied")]


async def test_served_kinds_have_version_and_plural_of_server() -> None:
    documents: dict[str, Object] = {
        "/apis": {
            "groups": [
                {
                    "name": "argoproj.io",
                    "versions": [{"version": "v1beta1"}, {"version": "v1alpha1"}],
                    "preferredVersion": {"version": "v1beta1"},
                },
                {"name": "example.com", "versions": [{"version": "v1"}]},
            ]
        },
        "/apis/argoproj.io/v1beta1": {"resources": [{"name": "rollouts/status", "kind": "Rollout"}]},
        "/apis/argoproj.io/v1alpha1": {
            "resources": [
                {"name": "rollouts", "kind": "Rollout", "namespaced": True, "verbs": ["get", "list"]},
                {"name": "cronworkflows", "kind": "CronWorkflow", "namespaced": True, "verbs": ["get"]},
            ]
        },
    }
    found = await served(Discovery(documents), OfflineEvaluator.of(Settings()).kinds)
    custom = [one for one in found if one.group not in ("", "apps", "batch")]
    assert [(one.api_version, one.kind, one.path("a")) for one in custom] == [
        ("argoproj.io/v1alpha1", "Rollout", "/apis/argoproj.io/v1alpha1/namespaces/a/rollouts")
    ]
    assert next(one.kind for one in found if one not in custom) == "CronJob"
    assert "Pod" not in [one.kind for one in found]
