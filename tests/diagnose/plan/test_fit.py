"""How many pods of manifests fit: what bounds them, and what nodes have left of each resource."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
import yaml

from tests.diagnose.objects import pod
from webhook.cluster.nodes import of_objects
from webhook.diagnose.plan.fit import Fitter
from webhook.diagnose.saved import SavedObjects
from webhook.diagnostics import Diagnostic, InputError
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.manifests import Manifest, Source, objects
from webhook.policy.placement.cluster_objects import DeviceClass, RuntimeClass
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_bounds import ALWAYS
from webhook.policy.settings.elements import AnnotationRequest, NodeGroup
from webhook.policy.settings.settings import PlacementSettings, Requests, Settings

CARD = "nvidia.com/gpu"
DEFAULTS = Settings()
MPS = {"nvidia.com/mps.capable": "true", "nvidia.com/gpu.sharing-strategy": "mps", "nvidia.com/gpu.replicas": "4"}
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: team-a}}
spec:
  replicas: {replicas}
  template:
    spec:
      nodeSelector: {selector}
      containers:
      - {{name: c, resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}}}
"""


def node(name: str, gpus: int, labels: Any = None, taint: str = "", **room: str) -> Any:
    amounts = {"cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "110", CARD: str(gpus)}
    offered = {**amounts, **{key.replace("_", "-"): value for key, value in room.items()}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**MPS, **(labels or {})}},
        "spec": {"taints": [{"key": taint, "value": "x", "effect": "NoSchedule"}] if taint else []},
        "status": {"allocatable": {key: value for key, value in offered.items() if value}},
    }


NODES = (node("a", 4, {"pool": "a"}), node("b", 8, {"pool": "b"}), node("tainted", 8, taint="team"))


def deployment(name: str = "llm", replicas: int = 3, gpus: int = 1, selector: str = "{}") -> str:
    return DEPLOYMENT.format(name=name, replicas=replicas, gpus=gpus, selector=selector)


def asking(amounts: Any, replicas: int = 9, **spec: Any) -> str:
    """A Deployment of pods with a container that asks for a GPU and for these amounts as well."""
    limits = {**amounts.get("limits", {}), CARD: 1}
    main = {"name": "main", "resources": {**amounts, "limits": limits}}
    template = {"spec": {**spec, "containers": [main, *spec.get("containers", ())]}}
    metadata = {"name": "llm", "namespace": "team-a"}
    found = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}
    return yaml.safe_dump({**found, "spec": {"replicas": replicas, "template": template}})


def holding(amounts: dict[str, Any], place: str = "a", **spec: Any) -> Any:
    """A pod on a node that requests these amounts."""
    found = pod("there", 0, node=place, **spec)
    found["spec"]["containers"][0]["resources"] = {"requests": amounts}
    return found


def fits(
    text: str,
    nodes: Sequence[Any] = NODES,
    held: Sequence[Any] = (),
    others: Sequence[Any] = (),
    namespace: str = "",
    settings: Settings = DEFAULTS,
    **facts: Any,
) -> list[Any]:
    known = Facts(nodes=tuple(of_objects(nodes, ALWAYS)), **facts)
    fitter = Fitter(OfflineEvaluator.of(settings, known))
    found = [one for one in objects(Source("m.yaml", text.encode())) if isinstance(one, Manifest | Diagnostic)]
    asyncio.run(fitter.read(SavedObjects([*nodes, *others]), found, namespace))
    for one in held:
        fitter.hold(one["spec"]["nodeName"], one)
    return list(fitter.fits())


def nodes(found: Any) -> dict[str, int]:
    return {one["node"]: one["count"] for one in found["nodes"]}


def test_pods_take_free_replicas_of_admitting_nodes() -> None:
    (found,) = fits(deployment(replicas=7), held=[holding({CARD: 3}), holding({CARD: 2}, "b")])
    assert (found["wanted"], found["fitting"], nodes(found)) == (7, 7, {"a": 1, "b": 6})
    object_ = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "team-a", "name": "llm"}
    assert found["object"] == object_
    assert found["notes"] == []


def test_objects_take_from_each_other() -> None:
    found = fits("---\n".join([deployment("one", 10), deployment("two", 10)]))
    assert [(one["object"]["name"], one["fitting"]) for one in found] == [("one", 10), ("two", 2)]


def test_selector_limits_nodes() -> None:
    (found,) = fits(deployment(replicas=9, selector="{pool: a}"))
    assert (found["fitting"], nodes(found)) == (4, {"a": 4})
    assert found["notes"] == [f"no room for 5: too little {CARD} on 1 of 1 node"]


def test_selector_that_no_node_has_is_named() -> None:
    (found,) = fits(deployment(selector="{pool: c}"))
    assert found["fitting"] == 0
    assert found["notes"] == ["no room for 3: node selectors, affinity or taints keep them off all nodes"]


@pytest.mark.parametrize(
    ("known", "selector", "said"),
    [
        (NODES, "{pool: c}", "no known node can take them, but declared node groups admit them: new"),
        ((node("a", 0),), "{}", "no known node can take them, but declared node groups admit them: new"),
        ((), "{}", "no known node can take them, but declared node groups admit them: new"),
        (NODES, "{pool: d}", "node selectors, affinity or taints keep them off all nodes"),
        (NODES[:1], "{pool: a}", f"too little {CARD} on 1 of 1 node"),
    ],
)
def test_declared_node_group_that_admits_pods_is_named(known: Any, selector: str, said: str) -> None:
    groups = (NodeGroup("new", {**MPS, "pool": "c"}, resources={CARD: 4}),)
    settings = Settings(placement=PlacementSettings(node_groups=groups))
    (found,) = fits(deployment(replicas=5, selector=selector), known, settings=settings)
    assert found["notes"] == [f"no room for {5 - found['fitting']}: {said}"]


def test_selector_of_a_runtime_class_limits_nodes() -> None:
    classes = (RuntimeClass("nvidia", "nvidia", {"pool": "b"}), RuntimeClass("none", "none", {"pool": "c"}))
    (found,) = fits(asking({}, runtimeClassName="nvidia"), runtime_classes=classes)
    assert nodes(found) == {"b": 8}
    assert fits(asking({}, runtimeClassName="none"), runtime_classes=classes)[0]["fitting"] == 0


def test_other_resources_of_a_pod_count() -> None:
    nic = [node("a", 4, **{"example.com/nic": "1"}), node("b", 4)]
    text = asking({"limits": {"example.com/nic": "1"}}, 3)
    (found,) = fits(text, nic)
    assert (found["fitting"], found["nodes"]) == (1, [{"node": "a", "count": 1}])
    assert found["notes"] == ["no room for 2: too little example.com/nic on 2 of 2 nodes"]
    assert fits(text, nic, [holding({"example.com/nic": 1})])[0]["fitting"] == 0


@pytest.mark.parametrize(
    ("resource", "offered", "wanted", "held", "fitting"),
    [
        ("cpu", "4", "1500m", "900m", 2),
        ("memory", "10Gi", "4Gi", "2048Mi", 2),
        ("ephemeral-storage", "10G", "4G", "3G", 1),
        ("hugepages-2Mi", "1Gi", "512Mi", "1Mi", 1),
    ],
)
def test_each_resource_counts(resource: str, offered: str, wanted: str, held: str, fitting: int) -> None:
    room = [node("a", 8, **{resource: offered})]
    there = holding({resource: held, "example.com/other": 1})
    (found,) = fits(asking({"requests": {resource: wanted}}), room, [there, holding({resource: held}, "unknown")])
    assert (found["fitting"], nodes(found)) == (fitting, {"a": fitting})
    assert found["notes"] == [f"no room for {9 - fitting}: too little {resource} on 1 of 1 node"]


def test_resource_that_no_node_lists_is_short() -> None:
    (found,) = fits(asking({"requests": {"hugepages-1Gi": "1Gi"}}))
    assert found["notes"] == ["no room for 9: too little hugepages-1Gi on 2 of 2 nodes"]


def test_number_of_pods_on_a_node_counts() -> None:
    (found,) = fits(deployment(replicas=4), [node("a", 8, pods="3")], [holding({})])
    assert (found["fitting"], found["notes"]) == (2, ["no room for 2: too little pods on 1 of 1 node"])


def test_shortest_resource_comes_first() -> None:
    small = [node("a", 1, cpu="1"), node("b", 4, cpu="1"), node("c", 2)]
    (found,) = fits(asking({"requests": {"cpu": "1"}}), small)
    assert nodes(found) == {"a": 1, "b": 1, "c": 2}
    assert found["notes"] == [f"no room for 5: too little {CARD} on 2 of 3 nodes, too little cpu on 2 of 3 nodes"]


def test_sidecars_and_init_containers_count_as_for_the_kubelet() -> None:
    def one(cpu: str, **rest: Any) -> dict[str, Any]:
        return {"name": f"n{cpu}", "resources": {"requests": {"cpu": cpu}}, **rest}

    first = [one("1", restartPolicy="Always"), one("5"), one("2", restartPolicy="Always")]
    room = [node("a", 8, cpu="12")]
    # The sidecar 1 beside the init container 5 is more than the sidecars 1 and 2 beside the container 2.
    assert fits(asking({"requests": {"cpu": "2"}}, initContainers=first), room)[0]["fitting"] == 2
    assert fits(asking({"requests": {"cpu": "4"}}, initContainers=first), room)[0]["fitting"] == 1  # 7
    held = pod("there", 0, node="a", initContainers=first)
    assert fits(asking({"requests": {"cpu": "6"}}), room, [held])[0]["fitting"] == 1


def test_overhead_counts() -> None:
    kata = runtime_class(cpu="1", memory="128Mi")
    text = asking({"requests": {"cpu": "1"}}, runtimeClassName="kata")
    (found,) = fits(text, [node("a", 8, cpu="5")], [holding({"cpu": "1"}, overhead={"cpu": "500m"})], [kata])
    assert found["fitting"] == 1


def test_amounts_of_the_whole_pod_stand_for_those_of_containers() -> None:
    text = asking({"requests": {"cpu": "3"}}, resources={"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}})
    (found,) = fits(text, [node("a", 8, cpu="4", memory="2Gi")], [holding({"cpu": "3"}, resources={"limits": {}})])
    assert found["fitting"] == 1
    assert fits(text, [node("a", 8, cpu="4", memory="2Gi")])[0]["fitting"] == 2


def test_overcommitted_node_takes_nothing() -> None:
    (found,) = fits(deployment(replicas=9), held=[holding({CARD: 9}), holding({CARD: 8}, "b")])
    assert (found["fitting"], found["nodes"]) == (0, [])


def test_malformed_pod_takes_a_place_alone() -> None:
    held = {"metadata": {}, "spec": {"nodeName": "a", "containers": {}}}
    assert fits(deployment(replicas=4), [node("a", 8, pods="3")], [held])[0]["fitting"] == 2


def test_object_that_the_webhook_denies_fits_nowhere_and_takes_nothing() -> None:
    denied, found = fits("---\n".join([deployment(replicas=1, gpus=2), deployment(replicas=12)]))
    assert (denied["denied"], denied["wanted"], denied["fitting"], denied["nodes"]) == (True, 1, 0, [])
    assert found["fitting"] == 12


def test_pod_counts_once_and_without_gpu_not_at_all() -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {generateName: p-}\nspec: {containers: [{name: c, resources: %s}]}\n"
    (found,) = fits("---\n".join([pod % "{limits: {nvidia.com/gpu: 1}}", pod % "{}"]), namespace="team-b")
    assert (found["wanted"], found["fitting"]) == (1, 1)
    assert (found["object"]["namespace"], found["object"]["name"]) == ("team-b", "p-")


def test_no_pods_ask_for_nothing() -> None:
    assert fits(deployment(replicas=0)) == []


def test_gpu_that_an_annotation_asks_for_counts() -> None:
    settings = Settings(requests=Requests(annotations=(AnnotationRequest("share"),)))
    text = deployment(replicas=13).replace("    spec:", "    metadata: {annotations: {share: '1'}}\n    spec:")
    (found,) = fits(text.replace("limits: {nvidia.com/gpu: 1}", ""), settings=settings)
    assert (found["wanted"], found["fitting"]) == (13, 12)


@pytest.mark.parametrize(
    ("text", "said"),
    [("a: [", "m.yaml:2:1"), ("{apiVersion: v1, kind: Pod, spec: {containers: {}}}", "m.yaml:1:")],
    ids=["no YAML", "malformed"],
)
def test_unreadable_manifest_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        fits(text)
    assert said in str(error.value)


def limit_range(kind: str = "Container", namespace: str = "team-a", **amounts: dict[str, str]) -> Any:
    metadata = {"name": "cap", "namespace": namespace}
    limits = [{"type": kind, **amounts}]
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": {"limits": limits}}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (limit_range(max={CARD: "0"}), f"each container needs a limit of at most 0 {CARD}"),
        (limit_range("Pod", max={CARD: "0"}), f"each pod needs a limit of at most 0 {CARD}"),
        (limit_range(max={CARD: "1"}), ""),
        (limit_range("PersistentVolumeClaim", max={CARD: "0"}), ""),
        (limit_range(namespace="team-b", max={CARD: "0"}), ""),
        (limit_range(max={"cpu": "1"}), "each container needs a limit of at most 1 cpu"),
        (limit_range("Pod", max={"memory": "1Gi"}), "each pod needs a limit of at most 1Gi memory"),
        (limit_range(min={"cpu": "3"}), "each container needs at least 3 cpu"),
        (limit_range("Pod", min={"memory": "1Gi"}), "each pod needs at least 1Gi memory"),
        (limit_range(min={"cpu": "2"}, max={"cpu": "2"}), ""),
    ],
)
def test_limit_range_of_the_namespace_refuses_pods(found: Any, said: str) -> None:
    (fit,) = fits(asking({"limits": {"cpu": "2"}}, 3), others=[found])
    notes = [f"LimitRange cap refuses them: {said}"] if said else []
    assert (fit["fitting"], fit["notes"]) == (0 if said else 3, notes)


def runtime_class(**overhead: str) -> Any:
    """The RuntimeClass `kata`, whose pods have an overhead."""
    kata = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "kata"}}
    return {**kata, "overhead": {"podFixed": overhead}}


SIDE = [{"name": "side"}]


@pytest.mark.parametrize(
    ("found", "amounts", "spec", "said"),
    [
        ({"max": {"memory": "8Gi"}}, {"limits": {"memory": "1Gi"}}, {"containers": SIDE}, ""),
        ({"max": {"memory": "8Gi"}}, {}, {"containers": SIDE}, "a limit of at most 8Gi memory"),
        ({"min": {"memory": "512Mi"}}, {"requests": {"memory": "1Gi"}}, {"containers": SIDE}, ""),
        ({"min": {"memory": "512Mi"}}, {}, {"containers": SIDE}, "at least 512Mi memory"),
        ({"min": {"memory": "0"}}, {}, {}, "at least 0 memory"),
        ({"max": {"memory": "1Gi"}}, {"limits": {"memory": "1Gi"}}, {"runtimeClassName": "kata"}, ""),
        ({"max": {"memory": "1Gi"}}, {}, {"runtimeClassName": "kata"}, "a limit of at most 1Gi memory"),
        ({"min": {"memory": "100Mi"}}, {}, {"runtimeClassName": "kata"}, "at least 100Mi memory"),
        ({"max": {"rdma/hca": 0}}, {"limits": {"rdma/hca": 0}}, {}, ""),
        ({"max": {"rdma/hca": 0}}, {}, {}, "a limit of at most 0 rdma/hca"),
    ],
)
def test_limit_range_of_pods_sums_stated_amounts_of_containers(found: Any, amounts: Any, spec: Any, said: str) -> None:
    """As kubernetes plugin/pkg/admission/limitranger/admission.go `podLimits` does, from 1.28 on, without overhead."""
    others = [limit_range("Pod", **found), runtime_class(memory="160Mi")]
    (fit,) = fits(asking(amounts, 3, **spec), others=others)
    notes = [f"LimitRange cap refuses them: each pod needs {said}"] if said else []
    assert (fit["fitting"], fit["notes"]) == (0 if said else 3, notes)


def test_request_above_the_default_limit_is_refused() -> None:
    text = asking({"requests": {"cpu": "8"}}, 3)
    assert fits(text)[0]["fitting"] == 3
    (found,) = fits(text, others=[limit_range(default={"cpu": "2"})])
    of = "a container requests more cpu than its limit, or than the default limit of a LimitRange"
    assert (found["fitting"], found["notes"]) == (0, [f"the API server refuses them: {of}"])


@pytest.mark.parametrize(
    ("amounts", "fitting"),
    [
        ({"defaultRequest": {"cpu": "2"}, "default": {"cpu": "4"}}, 4),
        ({"default": {"cpu": "4"}}, 2),
        ({"max": {"cpu": "8"}}, 1),
        ({"min": {"cpu": "1"}}, 8),
        ({"min": {"cpu": "1"}, "max": {"cpu": "8"}, "defaultRequest": {"cpu": "4"}}, 2),
    ],
)
def test_limit_range_gives_containers_defaults(amounts: dict[str, Any], fitting: int) -> None:
    (found,) = fits(asking({}), [node("a", 16, cpu="8")], others=[limit_range(**amounts)])
    assert found["fitting"] == fitting


def test_defaults_replace_no_amounts_of_containers() -> None:
    ranges = [limit_range(default={"cpu": "8"}, defaultRequest={"cpu": "8"})]
    assert fits(asking({"limits": {"cpu": "2"}}), [node("a", 16, cpu="8")], others=ranges)[0]["fitting"] == 4
    assert fits(asking({"requests": {"cpu": "1"}}), [node("a", 16, cpu="8")], others=ranges)[0]["fitting"] == 8


def quota(hard: dict[Any, Any], used: dict[str, str], namespace: str = "team-a", **spec: Any) -> Any:
    metadata = {"name": "team", "namespace": namespace}
    found = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata}
    return {**found, "spec": {"hard": hard, **spec}, "status": {"used": used}}


@pytest.mark.parametrize(
    ("key", "used", "hard", "fitting"),
    [
        (f"requests.{CARD}", "3", "5", 2),
        ("requests.cpu", "1", "4500m", 3),
        ("cpu", "1", "4500m", 3),
        ("limits.cpu", "0", "4", 2),
        ("requests.memory", "1Gi", "2Gi", 1),
        ("limits.memory", "1Gi", "2Gi", 1),
        ("pods", "7", "10", 3),
        ("count/pods", "11", "10", 0),
    ],
)
def test_quota_admits_some_pods(key: str, used: str, hard: str, fitting: int) -> None:
    text = asking({"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "1Gi"}}, 4)
    (found,) = fits(text, others=[quota({key: hard, "services": "0", "requests.storage": "0"}, {key: used})])
    said = f"ResourceQuota team admits {fitting} of 4: {used} of {hard} {key} used"
    assert (found["wanted"], found["fitting"], found["notes"]) == (4, fitting, [said])


def test_objects_take_from_a_quota_wherever_they_run() -> None:
    both = "---\n".join([deployment("one", 2, selector="{pool: c}"), deployment("two", 2)])
    one, two = fits(both, others=[quota({f"requests.{CARD}": "3"}, {})])
    assert (one["fitting"], two["fitting"]) == (0, 1)
    used = f"0 of 3 requests.{CARD} used, and 2 by the pods before these"
    assert two["notes"] == [f"ResourceQuota team admits 1 of 2: {used}"]


@pytest.mark.parametrize("key", ["cpu", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"])
def test_quota_refuses_pods_that_state_no_amount(key: str) -> None:
    found = quota({key: "100"}, {})
    field, _, name = key.rpartition(".")
    (fit,) = fits(deployment(), others=[found])
    said = f"ResourceQuota team refuses them: each container needs {field or 'requests'}.{name}"
    assert (fit["fitting"], fit["notes"]) == (0, [said])
    defaults = limit_range(default={"cpu": "1", "memory": "1"})
    assert fits(deployment(), others=[found, defaults])[0]["fitting"] == 3
    whole = asking({}, 3, resources={field or "requests": {name: "1"}})
    assert fits(whole, others=[found])[0]["fitting"] == 3


def test_quotas_of_other_namespaces_and_of_other_things_admit_all() -> None:
    others = [quota({"pods": "0"}, {}, "team-b"), quota({"count/jobs.batch": "0", "ephemeral-storage": "0"}, {})]
    (found,) = fits(deployment(), others=others)
    assert (found["fitting"], found["notes"]) == (3, [])


@pytest.mark.parametrize("key", [f"limits.{CARD}", CARD, "limits.hugepages-2Mi", "requests.pods.example.com/x"])
def test_quota_under_a_key_that_counts_nothing_admits_all(key: str) -> None:
    (found,) = fits(asking({"limits": {"memory": "1Gi"}}, 3), others=[quota({key: "0"}, {})])
    assert (found["fitting"], found["notes"]) == (3, [])


def test_quota_counts_an_overhead_beside_limits_alone() -> None:
    kata = runtime_class(memory="1Gi", cpu="1")
    text = asking({"limits": {"memory": "1Gi", "cpu": "0"}}, 3, runtimeClassName="kata")
    (found,) = fits(text, others=[kata, quota({"limits.memory": "5Gi", "limits.cpu": "0"}, {})])
    said = "ResourceQuota team admits 2 of 3: 0 of 5Gi limits.memory used"
    assert (found["fitting"], found["notes"]) == (2, [said])


def test_quota_needs_no_amounts_of_containers_beside_those_of_the_whole_pod() -> None:
    text = asking({}, 3, resources={"limits": {"memory": "1Gi"}})
    assert fits(text, others=[quota({"requests.cpu": "1", "limits.cpu": "1"}, {})])[0]["fitting"] == 3


def test_long_and_foreign_parts_of_limits_are_cut() -> None:
    long = quota({"pods": ["x" * 9999], 1: "0", "cpu": "1" * 9999}, {"pods": "x" * 9999})
    long["metadata"]["name"] = "\x1b[31m" + "n" * 9999
    (found,) = fits(asking({"limits": {"cpu": "1"}}, 3, schedulerName="s" * 9999), others=[long])
    assert found["notes"][0].startswith("ResourceQuota ?[31mnnn")
    assert max(map(len, found["notes"])) < 1024


def test_many_quotas_are_counted() -> None:
    scoped = [quota({}, {}, scopes=["BestEffort"]) for _ in range(5000)]
    (found,) = fits(deployment(replicas=30), others=[*scoped, *(quota({"pods": str(29 - n)}, {}) for n in range(29))])
    of_scopes, more, *tightest = found["notes"]
    names = ", ".join(["team"] * 10)
    assert of_scopes == f"ResourceQuotas {names} and 4990 more are for pods of a scope, and not counted"
    assert more == "19 more amounts of ResourceQuotas admit fewer than 30"
    assert tightest == [f"ResourceQuota team admits {n} of 30: 0 of {n} pods used" for n in range(10, 0, -1)]


@pytest.mark.parametrize("spec", [{"scopes": ["BestEffort"]}, {"scopeSelector": {"matchExpressions": []}}])
def test_quota_with_a_scope_is_not_counted(spec: Any) -> None:
    (found,) = fits(deployment(), others=[quota({"pods": "0", "limits.cpu": "0"}, {}, **spec)])
    assert (found["fitting"], found["notes"]) == (3, ["ResourceQuota team is for pods of a scope, and not counted"])


def test_scheduler_of_the_pod_is_named() -> None:
    (found,) = fits(deployment().replace("      containers", "      schedulerName: volcano\n      containers"))
    assert (found["fitting"], found["notes"]) == (3, ["scheduler volcano may place them in another way"])


def test_priority_is_named_where_pods_do_not_fit() -> None:
    text = deployment(replicas=13).replace("      containers", "      priorityClassName: high\n      containers")
    (found,) = fits(text)
    assert found["notes"][1:] == ["priority high is not counted: the scheduler may evict pods of lower priority"]
    assert fits(text.replace("13", "12"))[0]["notes"] == []


def test_devices_of_a_device_class_are_not_counted() -> None:
    served = (DeviceClass("nics", "example.com/nic"), DeviceClass("gpus", CARD))
    (found,) = fits(asking({"limits": {"example.com/nic": 1}}, 3), device_classes=served)
    assert (found["fitting"], found["notes"]) == (3, ["devices of DeviceClasses are not counted: example.com/nic"])
    assert fits(deployment(), device_classes=served)[0]["notes"] == []
    (short,) = fits(deployment(replicas=13), device_classes=served)
    assert (short["fitting"], short["notes"][0]) == (12, f"devices of DeviceClasses are not counted: {CARD}")


def test_manifests_without_gpus_read_nothing() -> None:
    kept = SavedObjects([])
    asyncio.run(Fitter(OfflineEvaluator.of(Settings(), Facts(nodes=()))).read(kept, [], ""))
    assert kept.left_out == []
