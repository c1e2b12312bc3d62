"""The match conditions send exactly the objects that the webhook checks, evaluated by the API server's own code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, combinations
from typing import Any

import pytest

from tests.chart.matching import called, called_by, request
from webhook.admission.respond import lost_tolerations
from webhook.policy.context import RequestContext
from webhook.policy.evaluate import Evaluator
from webhook.policy.pods.gpu_resources import WRONG_NAMES, KnownNames
from webhook.policy.settings.settings import Settings

pytestmark = pytest.mark.slow

Json = dict[str, Any]

GPU, SHARED, MIG = "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb"
MUTATED = {"pods.mutate", "pods-without-hostpath.mutate"}
VERSIONS = {
    "Pod": "v1",
    "PodTemplate": "v1",
    "ReplicationController": "v1",
    "ReplicaSet": "apps/v1",
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
}
ENTRIES = {"Pod": "pods", "PodTemplate": "pod-templates", "CronJob": "job-templates"}


def holder(kind: str, spec: Json, annotations: Json | None = None, **rest: Any) -> Json:
    """An object of a kind that holds a pod of this spec."""
    head = {"apiVersion": VERSIONS[kind], "kind": kind, "metadata": {"name": "x"}}
    if kind == "Pod":
        return {**head, "metadata": {"name": "x", "annotations": annotations}, "spec": spec, **rest}
    template = {"metadata": {"annotations": annotations}, "spec": spec}
    match kind:
        case "PodTemplate":
            return {**head, "template": template, **rest}
        case "CronJob":
            return {**head, "spec": {"jobTemplate": {"spec": {"template": template}}, **rest}}
        case _:
            return {**head, "spec": {"template": template, **rest}}


def container(name: str = "main", **members: Any) -> Json:
    return {"name": name, "image": "x", **members}


def asking(resource: str = GPU, amount: Any = 1, field: str = "limits") -> Json:
    return container(resources={field: {resource: amount}})


def mounting(*paths: str) -> Json:
    return container(volumeMounts=[{"name": "data", "mountPath": path} for path in paths])


def asking_many(count: int, field: str) -> Json:
    """A container with names of other vendors that are as long as `nvidia.com/gpu.shared`."""
    return container(resources={field: {f"vendor{number:06}.io/mem": 1 for number in range(count)}})


def with_variable(value: Json) -> Json:
    return {"containers": [container(env=[{"name": "A"}, {"name": "NVIDIA_VISIBLE_DEVICES", **value}])]}


PLAIN = container(resources={"limits": {"memory": "1Gi"}, "requests": {"cpu": "1m"}})
NAMES_GPU: dict[str, Json] = {
    "a container": {"containers": [asking()]},
    "the last of three": {"containers": [PLAIN, PLAIN, asking()]},
    "the last of 800": {"containers": [PLAIN] * 799 + [asking()]},
    "an init container": {"containers": [PLAIN], "initContainers": [PLAIN, asking()]},
    "a sidecar": {"containers": [PLAIN], "initContainers": [{**asking(), "restartPolicy": "Always"}]},
    "without containers": {"initContainers": [asking()]},
    "zero": {"containers": [asking(amount=0)]},
    "requests alone": {"containers": [asking(field="requests")]},
    "null limits": {"containers": [container(resources={"limits": None, "requests": {GPU: 1}})]},
    "null init containers": {"containers": [asking()], "initContainers": None},
    "renamed": {"containers": [asking(SHARED)]},
    "mig": {"containers": [asking(MIG)]},
    "the pod as a whole": {"containers": [PLAIN], "resources": {"limits": {"memory": "1Gi", GPU: 1}}},
    "the pod as a whole requests": {"containers": [PLAIN], "resources": {"requests": {MIG: 1}}},
    "and sees more": {"containers": [{**asking(), "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}]},
}
DEVICES = "/var/run/nvidia-container-devices"
CONCERNS_GPU: dict[str, Json] = {
    "sees all": with_variable({"value": "all"}),
    "sees by reference": with_variable({"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}),
    "an init container sees": {"containers": [PLAIN], "initContainers": with_variable({"value": "0"})["containers"]},
    "one letter more": {"containers": [asking("nvidia.com/gpus")]},
    "one letter less": {"containers": [asking("nvidia.com/gp")]},
    "another domain by one letter": {"containers": [asking("nvidai.com/gpu")]},
    "a shorter domain": {"containers": [asking("nvidia.co/gpu.shared")]},
    "a typo in requests": {"containers": [asking("nvidia.com/gpu.share", field="requests")]},
    "other case": {"containers": [asking("nvidia.com/GPU")]},
    "other case in another domain": {"containers": [asking("nvidai.com/GPU")]},
    "another vendor's form": {"containers": [asking("nvidia/gpu")]},
    "an old name": {"containers": [asking("alpha.kubernetes.io/nvidia-gpu")]},
    "the slash too early": {"containers": [asking("nvidia.co/mgpu")]},
    "the slash too late": {"containers": [asking("nvidia.comg/pu")]},
    "a device mount": {"containers": [PLAIN, mounting("/data", f"{DEVICES}/all")]},
    "a device mount with dots": {"containers": [mounting("/var//run/x/.././nvidia-container-devices//0/")]},
    "a mount over all devices": {"containers": [mounting(DEVICES)]},
    "a class of the NVIDIA runtime": {"containers": [PLAIN], "runtimeClassName": "nvidia"},
    "another class of it": {"containers": [PLAIN], "runtimeClassName": "nvidia-cdi"},
    "a class alone": {"runtimeClassName": "nvidia"},
    "an init container mounts": {"containers": [PLAIN], "initContainers": [PLAIN, mounting(f"{DEVICES}/0")]},
}
UNRELATED: dict[str, Json] = {
    "plain": {"containers": [PLAIN]},
    "no containers": {},
    "null containers": {"containers": None},
    "null resources": {"containers": [container(resources=None)]},
    "resources of the pod as a whole": {"containers": [PLAIN], "resources": PLAIN["resources"]},
    "null env": {"containers": [container(env=None)]},
    "null mounts": {"containers": [container(volumeMounts=None)]},
    "other mounts": {"containers": [mounting("/var/run/nvidia", "/cache", "/" + "x" * 99)]},
    "sees nothing": with_variable({"value": "void"}),
    "sees none": with_variable({"value": "none"}),
    "another vendor": {"containers": [asking("amd.com/gpu")]},
    "another vendor's long name": {"containers": [asking("vendor.example.com/gpu")]},
    "a subdomain": {"containers": [asking("sub.nvidia.com/gpu")]},
    "a node selector": {"containers": [PLAIN], "nodeSelector": {GPU: "1"}},
    "a class of another runtime": {"containers": [PLAIN], "runtimeClassName": "gvisor"},
    "no class": {"containers": [PLAIN], "runtimeClassName": None},
    "an ephemeral container": {"containers": [PLAIN], "ephemeralContainers": [asking()]},
}
CASES = [
    (kind, label, spec, wanted)
    for kind in VERSIONS
    for specs, wanted in ((NAMES_GPU, "named"), (CONCERNS_GPU, "concerned"), (UNRELATED, ""))
    for label, spec in specs.items()
]


def test_new_objects_are_sent_to_their_entries() -> None:
    found = called("default", [request(holder(kind, spec)) for kind, _, spec, _ in CASES])
    for (kind, label, _, wanted), entries in zip(CASES, found, strict=True):
        name = f"{ENTRIES.get(kind, 'templates')}.validate"
        mutated = MUTATED if kind == "Pod" else set()
        expected = {"named": {name} | mutated, "concerned": {f"other-{name}"}, "": set()}[wanted]
        assert entries == expected, f"{kind}: {label}"


@pytest.mark.parametrize("kind", VERSIONS)
def test_webhook_annotations_are_sent(kind: str) -> None:
    spec = UNRELATED["plain"]
    ours = request(holder(kind, spec, {"gpushare-webhook/client-priority": "9"}))
    others = request(holder(kind, spec, {"example.com/gpushare-webhook": "9"}))
    name = f"other-{ENTRIES.get(kind, 'templates')}.validate"
    assert called("default", [ours, others]) == [{name}, set()]


@pytest.mark.parametrize("kind", [kind for kind in VERSIONS if kind != "Pod"])
def test_workload_update_is_sent_only_when_its_template_changes(kind: str) -> None:
    for spec, other in ((NAMES_GPU["a container"], ""), (CONCERNS_GPU["sees all"], "other-")):
        before = holder(kind, spec)
        changed = holder(kind, {**spec, "terminationGracePeriodSeconds": 5})
        labelled = {**before, "metadata": {"name": "x", "labels": {"a": "b"}, "finalizers": ["x.io/hold"]}}
        requests = [
            request(changed, before=before),
            request(labelled, before=before),
            request(holder(kind, spec, status={"replicas": 1}), before=before),
            request(changed, before=before, subresource="status"),
            request(holder(kind, UNRELATED["plain"]), before=before),
        ]
        if kind in ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"):
            requests.append(request(holder(kind, spec, replicas=3), before=before))
        sent, *rest = called("default", requests)
        assert sent == {f"{other}{ENTRIES.get(kind, 'templates')}.validate"}
        assert rest == [set()] * len(rest)


GATES = [{"name": "example.com/queue"}, {"name": "example.com/quota"}]


def gated(spec: Json, count: int) -> Json:
    return holder("Pod", {**spec, "schedulingGates": GATES[:count]} if count else spec)


@pytest.mark.parametrize("label", NAMES_GPU)
def test_gpu_pod_is_sent_again_when_it_loses_its_last_gate(label: str) -> None:
    spec = NAMES_GPU[label]
    updates = [(before, after) for before in range(3) for after in range(3)]
    requests = [request(gated(spec, after), before=gated(spec, before)) for before, after in updates]
    emptied = request(holder("Pod", {**spec, "schedulingGates": []}), before=gated(spec, 1))
    for (before, after), entries in zip([*updates, (1, 0)], called("default", [*requests, emptied]), strict=True):
        assert entries == ({"pods.validate"} if before and not after else set()), (before, after)


def test_release_of_pod_without_gpu_is_never_sent() -> None:
    specs = [*CONCERNS_GPU.values(), *UNRELATED.values()]
    found = called("default", [request(gated(spec, 0), before=gated(spec, 1)) for spec in specs])
    assert found == [set()] * len(specs)


@pytest.mark.parametrize("subresource", ["status", "resize", "binding", "eviction", "ephemeralcontainers"])
def test_release_condition_reads_only_the_pod(subresource: str) -> None:
    spec = NAMES_GPU["a container"]
    asked = request(gated(spec, 0), before=gated(spec, 1), subresource=subresource)
    assert called("default", [asked]) == [set()]


KAI = {"config": {"profile": "kai"}}
FRACTION = {"gpu-fraction": "0.5"}
ANNOTATED = {f"annotated-{name}" for name in MUTATED}


@pytest.mark.parametrize("kind", VERSIONS)
@pytest.mark.parametrize("annotations", [FRACTION, {"gpu-memory": "4096"}, {**FRACTION, "gpu-memory": "1"}])
def test_request_by_annotation_is_sent_to_advisory_entries(kind: str, annotations: Json) -> None:
    asks = request(holder(kind, UNRELATED["plain"], annotations))
    names_too = request(holder(kind, NAMES_GPU["a container"], annotations))
    entry = ENTRIES.get(kind, "templates")
    mutated, annotated = (MUTATED, ANNOTATED) if kind == "Pod" else (set(), set())
    assert called(KAI, [asks, names_too]) == [{f"other-{entry}.validate"} | annotated, {f"{entry}.validate"} | mutated]
    assert called("default", [asks]) == [set()]


@pytest.mark.parametrize(
    "annotations", [None, {}, {"gpu-fraction-container-name": "main"}, {"x.io/gpu-fraction": "1"}], ids=str
)
def test_pod_without_request_by_annotation_is_not_sent(annotations: Json | None) -> None:
    assert called(KAI, [request(holder("Pod", UNRELATED["plain"], annotations))]) == [set()]


@pytest.mark.parametrize("resources", [[], [{"name": "nvidia.com/mig-1g.5gb", "kind": "mig"}]], ids=str)
def test_annotations_count_only_where_cards_can_be_shared(resources: list[Json]) -> None:
    values = {"config": {"profile": "kai", "resources": resources}}
    assert called(values, [request(holder("Pod", UNRELATED["plain"], FRACTION))]) == [set()]


def test_annotated_pod_that_lost_toleration_is_sent() -> None:
    spec = UNRELATED["plain"]
    before = holder("Pod", {**spec, "tolerations": [OURS]}, FRACTION)
    found = called(KAI, [request(holder("Pod", spec, FRACTION), before=before), request(before, before=before)])
    assert found == [{"annotated-tolerations.mutate"}, set()]


def test_annotated_pod_is_sent_once_where_all_pods_get_void_devices() -> None:
    values = {"config": {"profile": "kai", "injections": {"voidDevices": {"enabled": True, "pods": "all"}}}}
    spec = UNRELATED["plain"]
    found = called(values, [request(holder("Pod", spec, FRACTION)), request(holder("Pod", spec))])
    assert found == [ANNOTATED | {"other-pods.validate"}, {"other-pods.mutate"}]


def test_privileged_ephemeral_container_is_sent_where_pod_asks_by_annotation() -> None:
    spec = UNRELATED["plain"]
    asked = [
        request(
            holder("Pod", {**spec, "ephemeralContainers": [PRIVILEGED]}, annotations),
            before=holder("Pod", spec, annotations),
            subresource="ephemeralcontainers",
        )
        for annotations in (FRACTION, None)
    ]
    assert called(KAI, asked) == [{"ephemeral-containers.validate"}, set()]


def edited(name: str) -> Iterator[str]:
    """All names one edit away from a name, with some letters, which the API server accepts."""
    for at in range(len(name) + 1):
        before, after = name[:at], name[at:]
        yield before + after[1:]
        yield before + after[1:2] + after[:1] + after[2:]
        for letter in "gx-./G":
            yield before + letter + after
            yield before + letter + after[1:]


VALID = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
)


@pytest.mark.parametrize("resources", [[GPU, SHARED], ["example.com/mps.Share", "a.io/b"]], ids=str)
def test_every_name_that_gps013_reports_is_sent(resources: list[str]) -> None:
    """`alpha.kubernetes.io` and names without a slash aside, the API server accepts what `VALID` describes."""
    known = KnownNames(resources)
    candidates = {*WRONG_NAMES, *(other for name in resources for other in (*edited(name), name.swapcase()))}
    names = sorted(name for name in candidates if VALID.fullmatch(name) and known.meant_by(name) is not None)
    assert len(names) > 100
    values = {"config": {"resources": [{"name": name} for name in resources]}}
    found = called(values, [request(holder("Job", {"containers": [asking(name)]})) for name in names])
    assert [name for name, entries in zip(names, found, strict=True) if entries != {"other-templates.validate"}] == []


SEES_ALL = with_variable({"value": "all"})["containers"][0]
PRIVILEGED = container(securityContext={"privileged": True})
ATTACHED: dict[str, tuple[Json, list[Json], bool]] = {
    "sees all": (UNRELATED["plain"], [SEES_ALL], True),
    "sees all in a pod with a GPU": (NAMES_GPU["a container"], [SEES_ALL], True),
    "sees by reference": (UNRELATED["plain"], CONCERNS_GPU["sees by reference"]["containers"], True),
    "the last sees all": (UNRELATED["plain"], [container(), SEES_ALL], True),
    "mounts a device": (UNRELATED["plain"], [container(), mounting(f"{DEVICES}/all")], True),
    "mounts something else": (UNRELATED["plain"], [mounting("/data")], False),
    "privileged in a pod with a GPU": (NAMES_GPU["an init container"], [container(), PRIVILEGED], True),
    "privileged in a pod without": (UNRELATED["plain"], [PRIVILEGED], False),
    "privileged in a pod with another vendor's": (UNRELATED["another vendor"], [PRIVILEGED], False),
    "not privileged": (NAMES_GPU["a container"], [container(securityContext={"privileged": False})], False),
    "plain": (NAMES_GPU["a container"], [container()], False),
    "sees nothing": (NAMES_GPU["a container"], UNRELATED["sees nothing"]["containers"], False),
    "none": (NAMES_GPU["a container"], [], False),
}


def test_ephemeral_containers_that_see_gpus_are_sent() -> None:
    pods = [
        (holder("Pod", spec), holder("Pod", {**spec, "ephemeralContainers": new})) for spec, new, _ in ATTACHED.values()
    ]
    requests = [request(after, before=before, subresource="ephemeralcontainers") for before, after in pods]
    for (label, (_, _, sent)), entries in zip(ATTACHED.items(), called("default", requests), strict=True):
        assert entries == ({"ephemeral-containers.validate"} if sent else set()), label


def padded(count: int) -> Json:
    """A container that sees all GPUs, after `count` other variables, of which the API server stores 150,000."""
    return {**SEES_ALL, "env": [{"name": "A"}] * count + SEES_ALL["env"]}


MANY = {
    "variables": [padded(150_000)],
    "variables of several": [padded(4_000)] * 35,
    "containers": [container()] * 600 + [SEES_ALL],
    "mounts": [mounting(*["/x"] * 60_000, f"{DEVICES}/all")],
    "long mounts": [mounting(*["/" + "x" * 4095] * 300, f"{DEVICES}/all")],
}


@pytest.mark.parametrize("label", MANY)
def test_padding_does_not_hide_container_that_sees_gpus(label: str) -> None:
    """A condition that takes more than the API server's budget for CEL skips an entry whose policy is `Ignore`."""
    plain = holder("Pod", UNRELATED["plain"])
    attached = holder("Pod", {**UNRELATED["plain"], "ephemeralContainers": MANY[label]})
    requests = [
        request(holder("Pod", {"containers": MANY[label]})),
        request(holder("Deployment", {"containers": MANY[label]})),
        request(attached, before=plain, subresource="ephemeralcontainers"),
    ]
    expected = ["other-pods", "other-templates", "ephemeral-containers"]
    assert called("default", requests) == [{f"{name}.validate"} for name in expected]


@pytest.mark.parametrize("field", ["limits", "requests"])
@pytest.mark.parametrize("containers", [1, 50])
def test_many_resource_names_are_sent_without_being_read(containers: int, field: str) -> None:
    """CEL reads names so slowly that tens of thousands of them would occupy the API server for its whole timeout."""

    def naming(count: int) -> Json:
        each = [container(resources={field: {f"example.com/{n}": 0 for n in range(count // containers)}})] * containers
        return holder("Pod", {"containers": each})

    few, many = naming(2_000), naming(2_050)
    assert called("default", [request(few), request(many)]) == [set(), {"pods.validate"} | MUTATED]


@pytest.mark.parametrize("kind", VERSIONS)
def test_many_annotations_are_sent_without_being_read(kind: str) -> None:
    few, many = ({f"a{n}": "" for n in range(count)} for count in (500, 501))
    requests = [request(holder(kind, UNRELATED["plain"], annotations)) for annotations in (few, many)]
    assert called("default", requests) == [set(), {f"other-{ENTRIES.get(kind, 'templates')}.validate"}]


_LONG = "/" + "x" * 99
LARGEST: dict[str, list[Json]] = {
    "variables": [container(env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "none"}] * 10)] * 500,
    "mounts": [mounting(*[_LONG] * 10)] * 500,
    "names": [asking_many(4, "limits")] * 500,
    "names in requests": [asking_many(4, "requests")] * 500,
    "all of them": [{**mounting(*[_LONG] * 5), **asking_many(4, "limits")}] * 500,
}


ANNOTATIONS = {f"{number:03}": "" for number in range(500)}


@pytest.mark.parametrize("label", LARGEST)
def test_largest_object_below_the_guards_is_within_budget(label: str) -> None:
    """`called` fails where the conditions cost more than the API server's budget."""
    spec = {"containers": LARGEST[label], "initContainers": LARGEST[label]}
    asked = [request(holder(kind, spec, ANNOTATIONS)) for kind in ("Pod", "CronJob")]
    if label in ("variables", "mounts"):
        attached = holder("Pod", {**UNRELATED["plain"], "ephemeralContainers": LARGEST[label]})
        before = holder("Pod", UNRELATED["plain"])
        asked.append(request(attached, before=before, subresource="ephemeralcontainers"))
    assert called_by([("default", asked), (KAI, asked)]) == [[set()] * len(asked)] * 2


OURS = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
OURS_RENAMED = {**OURS, "key": SHARED}
CANDIDATES = [OURS, OURS_RENAMED, {**OURS, "effect": "NoExecute"}, {"operator": "Exists"}]
CHOICES = list(chain.from_iterable(combinations(CANDIDATES, size) for size in range(len(CANDIDATES) + 1)))


@pytest.mark.parametrize("resource", [GPU, SHARED, "amd.com/gpu"])
def test_pod_update_is_sent_only_when_it_lost_an_injected_toleration(resource: str) -> None:
    evaluator = Evaluator.of(Settings())

    def tolerating(held: tuple[Json, ...]) -> Json:
        return holder("Pod", {"containers": [asking(resource)], "tolerations": list(held)})

    pairs = [(before, after) for before in CHOICES for after in CHOICES]
    requests = [request(tolerating(after), before=tolerating(before)) for before, after in pairs]
    for (before, after), entries in zip(pairs, called("default", requests), strict=True):
        lost = [ours for ours in (OURS, OURS_RENAMED) if ours in before and ours not in after]
        assert entries == ({"tolerations.mutate"} if lost and resource != "amd.com/gpu" else set())
        (updated,), (earlier,) = (evaluator.pods(tolerating(held), "", "Pod") for held in (after, before))
        # A pod that does not request the renamed resource gets no toleration for it, although it is sent.
        assert bool(entries) >= bool(lost_tolerations(updated, earlier, RequestContext("team"), evaluator))


def test_toleration_conditions_follow_settings() -> None:
    added = {
        "exists": {"key": "a", "operator": "Exists", "effect": "NoSchedule"},
        "equal": {"key": "b", "operator": "Equal", "value": "gpu"},
        "from nodes": {"key": "pool.example.com/x", "operator": "Exists", "effect": "NoExecute"},
    }
    tolerations = {
        "add": [{"key": "a"}, {"key": "b", "operator": "Equal", "value": "gpu", "effect": None}],
        "resourceName": False,
        "fromNodes": ["pool.example.com/*"],
    }
    values = {"config": {"injections": {"tolerations": tolerations}}}
    plain = holder("Pod", {"containers": [asking()]})
    given = [*added.values(), OURS, OURS_RENAMED, {"key": "poolxexample.com/x", "operator": "Exists"}]
    before = [holder("Pod", {"containers": [asking()], "tolerations": [one]}) for one in given]
    found = called(values, [request(plain, before=one) for one in before])
    assert found == [{"tolerations.mutate"}] * len(added) + [set()] * 3


@pytest.mark.parametrize("config", [{"profile": "none"}, {"injections": {"tolerations": {"enabled": False}}}])
def test_toleration_entry_is_absent_without_injection(config: Json) -> None:
    before = holder("Pod", {"containers": [asking()], "tolerations": [OURS]})
    after = holder("Pod", {"containers": [asking()]})
    assert called({"config": config}, [request(after, before=before)]) == [set()]


def test_mirror_pod_annotation_is_trusted_only_from_nodes() -> None:
    mirror = holder("Pod", {"containers": [asking()]}, {"kubernetes.io/config.mirror": "hash"})
    requests = [request(mirror, groups=groups) for groups in (["system:nodes"], ["system:authenticated"], [])]
    sent = {"pods.validate"} | MUTATED
    assert called("default", requests) == [set(), sent, sent]


def test_resource_names_follow_settings() -> None:
    values = {"config": {"resources": [{"name": "example.com/mps"}, {"name": GPU, "kind": "whole"}]}}
    names = ["example.com/mps", GPU, MIG, SHARED, "example.com/mpss", "exampl.com/mps", "example.org/x"]
    found = called(values, [request(holder("Job", {"containers": [asking(name)]})) for name in names])
    assert found == [{"templates.validate"}] * 3 + [{"other-templates.validate"}] * 3 + [set()]


def test_empty_resources_match_only_mig_slices() -> None:
    found = called(
        {"config": {"resources": []}}, [request(holder("Job", {"containers": [asking(name)]})) for name in (MIG, GPU)]
    )
    assert found == [{"templates.validate"}, {"other-templates.validate"}]


def test_void_devices_for_all_pods_sends_every_pod() -> None:
    values = {"config": {"injections": {"voidDevices": {"enabled": True, "pods": "all"}}}}
    pods = [request(holder("Pod", one)) for one in (UNRELATED["plain"], NAMES_GPU["a container"])]
    assert called(values, pods) == [{"other-pods.mutate"}, {"pods.validate"} | MUTATED]
    values["config"]["injections"]["voidDevices"]["pods"] = "gpu"
    assert called(values, pods)[0] == set()


def test_custom_match_conditions_are_added() -> None:
    condition = {"name": "not-here", "expression": "object.metadata.name != 'x'"}
    values = {"webhooks": {"matchConditions": [condition]}}
    other = holder("Pod", NAMES_GPU["a container"])
    named = {**other, "metadata": {"name": "y"}}
    assert called(values, [request(other), request(named)]) == [set(), {"pods.validate"} | MUTATED]
