"""The webhook with other mutating webhooks and policies."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.api import ApiError, Object
from tests.cluster.harness.hooks import DRY_POD, local_webhook
from tests.cluster.harness.manifests import GPU, PIPE, PODS, container, labelled, pod
from tests.cluster.harness.standin import Answer, StandIn, allow, is_called, registered, stand_in
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.harness.cluster import ControlPlaneOnly

GROUP = "/apis/admissionregistration.k8s.io/v1"
PREFIX = "gpushare-webhook/"
NAMED = ["runtimeClass", "pipeDirectory", "pipeMount", "tolerations"]
OURS = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}


@pytest.fixture(scope="module", autouse=True)
def _product(running: ControlPlaneOnly, request: pytest.FixtureRequest) -> Iterator[None]:
    """The product, with the settings of a parameter, if any."""
    with local_webhook(running, settings=getattr(request, "param", {})):
        yield


@contextmanager
def _neighbour(
    running: ControlPlaneOnly, answer: Callable[[Object], Answer], reinvocation: str = "Never"
) -> Iterator[StandIn]:
    """A mutating webhook whose name puts it after ours."""
    with (
        stand_in(running.place, answer) as webhook,
        registered(running, webhook, "zz-neighbour", failurePolicy="Fail", reinvocationPolicy=reinvocation),
    ):
        wait_for("the neighbour to be called", lambda: is_called(running, webhook))
        webhook.reviews.clear()
        yield webhook


def _near(name: str, *containers: Object, **spec: object) -> Object:
    return labelled(pod(name, *containers, **spec), called="yes")


def assert_complete(stored: Object, *asking: str) -> None:
    """Assert that each edit is in a stored pod once: in its spec, and only in containers that request a GPU."""
    spec = stored["spec"]
    assert spec["runtimeClassName"] == "nvidia"
    assert spec["tolerations"].count(OURS) == 1
    (volume,) = [one for one in spec["volumes"] if "hostPath" in one]
    assert volume["name"] == "gpushare-mps-nvidia-com-gpu"
    annotation = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
    assert stored["metadata"]["annotations"][annotation].split(",").count(volume["name"]) == 1
    for one in [*spec["containers"], *spec.get("initContainers", [])]:
        asks = one["name"] in asking
        names = [entry["name"] for entry in one.get("env", [])]
        assert names.count("CUDA_MPS_PIPE_DIRECTORY") == int(asks), one["name"]
        paths = [mount["mountPath"] for mount in one.get("volumeMounts", [])]
        assert paths.count(PIPE) == int(asks), one["name"]


def _append(kind: str, added: Object) -> Callable[[Object], Answer]:
    """Add a container unless it exists, as an idempotent webhook does."""

    def answer(review: Object) -> Answer:
        spec = review["request"]["object"]["spec"]
        held = spec.get(kind, [])
        if any(one["name"] == added["name"] for one in held):
            return allow(review)
        operation = {"op": "add", "path": f"/spec/{kind}/-", "value": added}
        return allow(review, operation if held else operation | {"path": f"/spec/{kind}", "value": [added]})

    return answer


# The limit on the whole pod is raised: here a second container asks for a replica.
@pytest.mark.parametrize("_product", [{"limits": {"perPod": 2}}], indirect=True, ids=["two per pod"])
@pytest.mark.parametrize("reinvocation", ["Never", "IfNeeded"])
@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_reinvocation_mutates_container_added_by_later_webhook(
    running: ControlPlaneOnly, kind: str, reinvocation: str
) -> None:
    with _neighbour(running, _append(kind, container("late")), reinvocation) as neighbour:
        name = f"late-{kind.lower()}-{reinvocation.lower()}"
        warned = re.findall(r"GPS\d+", str(running.api.warnings("POST", PODS, _near(name))))
        assert warned == []  # not GPS019
        (first, *_) = neighbour.reviews
        assert_complete(first["request"]["object"], "main")
        assert _named(first["request"]["object"]) == NAMED
    stored = running.api.get(f"{PODS}/{name}")
    assert stored["spec"][kind][-1]["name"] == "late"
    assert_complete(stored, "main", "late")
    assert _named(stored) == NAMED


def _named(manifest: Object) -> list[str]:
    """The injections that the annotation names."""
    found: str = manifest["metadata"]["annotations"]["gpushare-webhook/injected"]
    return found.split(",")


@pytest.mark.parametrize("reinvocation", ["Never", "IfNeeded"])
def test_reinvocation_adds_name_of_later_injection_once(running: ControlPlaneOnly, reinvocation: str) -> None:
    """The neighbour adds what the limits are taken from, so that only the second call injects them."""

    def answer(review: Object) -> Answer:
        annotations = review["request"]["object"]["metadata"]["annotations"]
        key = f"{PREFIX}client-priority"
        operation = {"op": "add", "path": f"/metadata/annotations/{key.replace('/', '~1')}", "value": "1"}
        return allow(review) if key in annotations else allow(review, operation)

    with _neighbour(running, answer, reinvocation):
        assert running.api.warnings("POST", PODS, _near(f"limited-{reinvocation.lower()}")) == []  # such as GPS019
        stored = running.api.get(f"{PODS}/limited-{reinvocation.lower()}")
        assert _named(stored) == [*NAMED, "limits"]
        assert_complete(stored, "main")
        assert running.api.warnings("POST", PODS, _copy(stored, f"copy-{reinvocation.lower()}")) == []
        assert _named(running.api.get(f"{PODS}/copy-{reinvocation.lower()}")) == [*NAMED, "limits"]


def _copy(stored: Object, name: str) -> Object:
    """A new pod with the spec and annotations of a stored one, as a user makes it from `kubectl get -o yaml`."""
    kept = {key: stored["metadata"][key] for key in ("annotations", "labels")}
    return {**stored, "metadata": {**kept, "name": name}, "status": {}}


PROXY = {
    "name": "istio-proxy",
    "image": "none",
    "restartPolicy": "Always",
    "resources": {"requests": {"cpu": "100m"}},
    "securityContext": {"runAsUser": 1337, "readOnlyRootFilesystem": True},
}
"""What Istio (istio/istio pkg/kube/inject) and Linkerd (linkerd/linkerd2 charts/partials) add: a native sidecar."""


@pytest.mark.parametrize("reinvocation", ["Never", "IfNeeded"])
def test_injected_proxy_gets_no_edits(running: ControlPlaneOnly, reinvocation: str) -> None:
    with _neighbour(running, _append("initContainers", PROXY), reinvocation):
        name = f"meshed-{reinvocation.lower()}"
        assert running.api.warnings("POST", PODS, _near(name)) == []
    stored = running.api.get(f"{PODS}/{name}")
    assert [one["name"] for one in stored["spec"]["initContainers"]] == ["istio-proxy"]
    assert_complete(stored, "main")


def test_container_added_by_later_webhook_is_checked(running: ControlPlaneOnly) -> None:
    with _neighbour(running, _append("containers", container("late"))):
        with pytest.raises(ApiError, match=r"GPS002 .*asks for 2") as refused:
            running.api.create(PODS, _near("too-many"))
        assert 'webhook "pods.mutate.gpushare-webhook.io"' in refused.value.message


def test_gpu_requested_by_later_webhook_warns_without_edits(
    running: ControlPlaneOnly,
) -> None:
    # The API server reinvokes only webhooks that it called before, and the match conditions excluded this one.
    with _neighbour(running, _append("containers", container("late")), "IfNeeded"):
        manifest = _near("first-asks-late", container(gpus=0))
        said = running.kubectl.run("create", "-f", "-", manifest=manifest)
        assert said.returncode == 0, said.stderr
        assert "Warning: GPS019" in said.stderr
        stored = running.api.get(f"{PODS}/first-asks-late")
        assert [one["name"] for one in stored["spec"]["containers"]] == ["main", "late"]
        assert "runtimeClassName" not in stored["spec"]
        assert OURS not in stored["spec"]["tolerations"]


POLICY = {
    "matchConstraints": {
        "resourceRules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]},
        ],
        "objectSelector": {"matchLabels": {"neighbour": "policy"}},
    },
    "failurePolicy": "Fail",
}


@contextmanager
def _policy(running: ControlPlaneOnly, expression: str) -> Iterator[None]:
    """A MutatingAdmissionPolicy for pods with a label, in force."""
    mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}
    spec = {**POLICY, "reinvocationPolicy": "IfNeeded", "mutations": [mutation]}
    policies, bindings = f"{GROUP}/mutatingadmissionpolicies", f"{GROUP}/mutatingadmissionpolicybindings"

    def changes() -> bool:
        made = running.api.create(DRY_POD, labelled(pod("looks", container(gpus=0)), neighbour="policy"))
        return made != running.api.create(DRY_POD, pod("looks", container(gpus=0))) and "policy" in str(made["spec"])

    with (
        running.api.created(policies, {"metadata": {"name": "neighbour"}, "spec": spec}),
        running.api.created(bindings, {"metadata": {"name": "neighbour"}, "spec": {"policyName": "neighbour"}}),
    ):
        wait_for("the policy to be in force", changes)
        yield
    wait_for("the policy to be forgotten", lambda: not changes())


def test_mutating_admission_policy_works_with_webhook(running: ControlPlaneOnly) -> None:
    expression = """Object{spec: Object.spec{
        volumes: [Object.spec.volumes{name: "policy", emptyDir: Object.spec.volumes.emptyDir{}}],
        containers: object.spec.containers.map(c, Object.spec.containers{
            name: c.name, env: [Object.spec.containers.env{name: "FROM", value: "policy"}]})}}"""
    with _policy(running, expression):
        stored = running.api.create(PODS, labelled(pod("policy"), neighbour="policy"))
    names = [entry["name"] for entry in stored["spec"]["containers"][0]["env"]]
    assert sorted(names) == ["CUDA_MPS_PIPE_DIRECTORY", "FROM"]
    assert [one["name"] for one in stored["spec"]["volumes"]].count("policy") == 1
    assert_complete(stored, "main")
