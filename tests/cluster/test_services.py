"""Pods, Services and the API server reach each other; service accounts have exactly the rights granted to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cluster.harness.manifests import container, host_path, labelled, pod
from tests.cluster.harness.waiting import met, wait_for

if TYPE_CHECKING:
    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.workspace import Workspace


def _web_server(space: Workspace) -> str:
    """A pod that serves a page behind a Service; returns the Service's address."""
    script = "mkdir /tmp/www && echo hello > /tmp/www/index.html && exec httpd -f -p 8080 -h /tmp/www"
    probe = {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1}
    server = pod("web", container(gpus=0, command=["sh", "-c", script], readinessProbe=probe))
    space.api.create(space.pods, labelled(server, app="web"))
    service = {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]}
    services = f"/api/v1/namespaces/{space.name}/services"
    made = space.api.create(services, {"metadata": {"name": "web"}, "spec": service})
    space.wait_pod("web", "to be ready", lambda now: met(now, "Ready"))
    return str(made["spec"]["clusterIP"])


def test_pod_reaches_pod_through_service(space: Workspace) -> None:
    address = _web_server(space)
    space.start(pod("caller", container(gpus=0)))
    # Debian's static busybox crashes in its own wget.
    request = f"printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 2 {address} 80 || true"
    wait_for("the Service to answer", lambda: "hello" in space.sh("caller", request))


def test_api_server_reaches_pod_through_service(space: Workspace) -> None:
    _web_server(space)
    path = f"/api/v1/namespaces/{space.name}/services/web:80/proxy/"
    wait_for("the proxy to answer", lambda: space.api.request("GET", path)[2] == b"hello\n")


def test_pod_calls_api_server_with_rights_of_its_service_account(space: Workspace, cluster: Cluster) -> None:
    space.kubectl("create", "role", "reader", "--verb=get", "--resource=configmaps")
    space.kubectl("create", "rolebinding", "reader", "--role=reader", f"--serviceaccount={space.name}:default")
    binary = cluster.control.tools.kubectl
    mounts = [{"name": "kubectl", "mountPath": "/kubectl", "readOnly": True}]
    volumes = [host_path("kubectl", str(binary.parent), "Directory")]
    space.start(pod("actor", container(gpus=0, volumeMounts=mounts), volumes=volumes))

    allowed = space.sh("actor", "/kubectl/kubectl get configmap kube-root-ca.crt -o name")
    assert allowed == "configmap/kube-root-ca.crt\n"
    refused = space.sh("actor", "/kubectl/kubectl get secrets 2>&1 || true")
    assert f'User "system:serviceaccount:{space.name}:default" cannot list resource "secrets"' in refused


def test_logs_and_exec_reach_container(space: Workspace) -> None:
    space.start(pod("talks", container(gpus=0, command=["sh", "-c", "echo said; sleep 1000"])))
    wait_for("the log", lambda: space.kubectl("logs", "talks") == "said\n")
    assert space.sh("talks", "echo $((6 * 7))") == "42\n"
