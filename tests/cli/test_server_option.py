"""`check --server`: what a user sees of a running webhook, of one with other settings, and of one that fails."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import Ended, run
from tests.remote.scripted import Answer, answer, http, raw, scripted, status
from tests.server.certificates import Certificates, client_certificate, issue
from tests.server.process import Serve, serve
from webhook.pki import Authority
from webhook.remote.connection import LARGEST

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: team-a}
spec:
  containers:
    - name: train
      resources:
        limits: {nvidia.com/gpu: 2}
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers: [{name: web}]
"""
DENIED = {
    "allowed": False,
    "status": {"code": 403, "message": "GPS001 too many; ask for fewer"},
    "auditAnnotations": {"findings": "GPS001=deny"},
}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return issue(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def pod(tmp_path: Path) -> Path:
    file = tmp_path / "pod.yaml"
    file.write_text(POD)
    return file


@pytest.fixture
def many(tmp_path: Path) -> Path:
    file = tmp_path / "many.yaml"
    file.write_text("---\n".join([DEPLOYMENT] * 3))
    return file


def check(file: Path, url: str, certificates: Certificates, *options: object) -> Ended:
    """Check a file with a server that the certificates' authority has signed."""
    return run("check", file, "--server", url, "--ca", certificates.authority, *options)


def one_error(ended: Ended) -> str:
    """The only error of a run, which had no result."""
    assert ended.code == 2, ended
    assert ended.out.startswith("0 objects: nothing to check; 1 input")
    (line,) = ended.err.splitlines()
    return line


class TestRequests:
    """What the server receives."""

    def test_pod_is_sent_to_both_hooks(self, certificates: Certificates, pod: Path) -> None:
        operations = [{"op": "add", "path": "/spec/runtimeClassName", "value": "nvidia"}]
        with scripted(certificates, answer(**patch(operations)), answer()) as server:
            ended = check(pod, server.url, certificates, "-o", "json")
        assert ended.code == 0
        assert server.paths == ["/mutate?timeout=10s", "/validate?timeout=10s"]
        first, second = (review["request"]["object"]["spec"] for review in server.reviews)
        assert "runtimeClassName" not in first
        assert second == {**first, "runtimeClassName": "nvidia"}
        (result,) = ended.json()["results"]
        assert result["patch"] == operations
        assert result["patchDiffers"] is True

    def test_namespace_level_chooses_hook(self, certificates: Certificates, pod: Path, tmp_path: Path) -> None:
        settings = tmp_path / "settings.yaml"
        settings.write_text("podSecurity: {unlabelled: restricted}\n")
        with scripted(certificates, answer()) as server:
            check(pod, server.url, certificates, "--config", settings)
        assert server.paths[0] == "/mutate/without-hostpath?timeout=10s"

    def test_denied_pod_is_not_sent_to_validating_hook(self, certificates: Certificates, pod: Path) -> None:
        with scripted(certificates, answer(**DENIED)) as server:
            assert check(pod, server.url, certificates).code == 1
        assert server.paths == ["/mutate?timeout=10s"]

    def test_review_is_that_of_dry_run(self, certificates: Certificates, many: Path) -> None:
        with scripted(certificates, answer()) as server:
            check(many, server.url, certificates, "-n", "team-b")
        request = server.reviews[0]["request"]
        kind = {"group": "apps", "version": "v1", "kind": "Deployment"}
        resource = {"group": "apps", "version": "v1", "resource": "deployments"}
        uids = {review["request"]["uid"] for review in server.reviews}
        assert len(uids) == 3
        assert request.pop("uid") in uids
        assert request.pop("object")["metadata"] == {"name": "web"}
        assert request == {
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "name": "web",
            "namespace": "team-b",
            "operation": "CREATE",
            "userInfo": {"username": "gpushare-webhook:check", "groups": ["system:authenticated"]},
            "oldObject": None,
            "dryRun": True,
            "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions", "dryRun": ["All"]},
        }

    def test_one_connection_for_all_objects(self, certificates: Certificates, many: Path) -> None:
        with scripted(certificates, answer()) as server:
            check(many, server.url, certificates)
        assert (server.connections, len(server.paths)) == (1, 3)

    def test_new_connection_after_server_closes_kept_one(self, certificates: Certificates, many: Path) -> None:
        with scripted(certificates, answer(), raw_close, answer()) as server:
            ended = check(many, server.url, certificates)
        assert ended.code == 0
        assert (server.connections, len(server.paths)) == (2, 4)

    def test_skipped_objects_are_not_sent(self, certificates: Certificates, tmp_path: Path) -> None:
        file = tmp_path / "map.yaml"
        file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
        with scripted(certificates, answer()) as server:
            ended = check(file, server.url, certificates)
        assert ended.code == 0
        assert server.connections == 0
        assert "1 skipped; none answered by https://localhost:" in ended.out


def patch(operations: list[dict[str, Any]]) -> dict[str, str]:
    """The members of a response with a patch."""
    return {"patchType": "JSONPatch", "patch": b64encode(json.dumps(operations).encode()).decode()}


def raw_close(_review: dict[str, Any]) -> None:
    """Close the connection without a response."""


class TestDifferences:
    """A server whose settings are not those of the local run."""

    def test_each_is_marked(self, certificates: Certificates, pod: Path, tmp_path: Path) -> None:
        settings = tmp_path / "settings.yaml"
        settings.write_text("limits: {perContainer: 3, perPod: 3}\nseverities: {GPS015: deny}\n")
        pod.write_text(POD + "  terminationGracePeriodSeconds: 0\n  hostPID: true\n")
        local = tmp_path / "local.yaml"
        local.write_text("severities: {GPS009: off}\n")
        with serve(certificates, "--config", str(settings)) as server:
            url = f"https://localhost:{server.client.port}"
            ended = check(pod, url, certificates, "--config", local, "-o", "json")
            text = check(pod, url, certificates, "--config", local).out
        (result,) = ended.json()["results"]
        found = {(one["code"], one["severity"], one["line"], one.get("difference")) for one in result["findings"]}
        assert found == {
            ("GPS001", "audit", 8, "only-local"),
            ("GPS009", "warn", 1, "only-server"),
            ("GPS015", "deny", 9, "changed"),
        }
        assert (ended.code, result["decision"]) == (1, "denied")
        assert ended.json()["summary"]["differences"] == 3
        assert "1 denied; 1 answered by https://localhost:" in text
        assert text.endswith(", 3 differences from the local run\n")
        for note in ("only the server reports this", "the server does not report this", "reports this differently"):
            assert f"{note})" in text

    def test_annotation_that_only_local_run_reads(self, certificates: Certificates, pod: Path, tmp_path: Path) -> None:
        pod.write_text(POD.replace("team-a}", "team-a, annotations: {team/ignore: GPS001}}"))
        local = tmp_path / "local.yaml"
        local.write_text("suppress: {annotation: team/ignore}\n")
        with scripted(certificates, answer(**DENIED)) as server:
            ended = check(pod, server.url, certificates, "--config", local, "-o", "json")
        (result,) = ended.json()["results"]
        (found,) = result["findings"]
        assert (ended.code, found["difference"]) == (1, "only-server")
        assert "suppressed" not in result
        assert "suppressed" not in ended.json()

    def test_annotation_that_both_read(self, certificates: Certificates, pod: Path, tmp_path: Path) -> None:
        pod.write_text(POD.replace("team-a}", "team-a, annotations: {team/ignore: GPS001}}"))
        local = tmp_path / "local.yaml"
        local.write_text("suppress: {annotation: team/ignore}\n")
        with scripted(certificates, answer(auditAnnotations={"suppressed": "GPS001=1"})) as server:
            ended = check(pod, server.url, certificates, "--config", local, "-o", "json")
        assert (ended.code, ended.json()["suppressed"]) == (0, {"annotation": 1})

    def test_patch_alone(self, certificates: Certificates, pod: Path) -> None:
        pod.write_text(POD.replace("gpu: 2", "gpu: 1"))
        with scripted(certificates, answer()) as server:
            ended = check(pod, server.url, certificates)
        assert ended.code == 0
        assert ended.out.startswith(f"{pod}:1: Pod team-a/train: the server's patch is not that of the local run\n")
        assert ended.out.endswith(f"1 allowed; 1 answered by {server.url}, 1 difference from the local run\n")

    def test_message_of_server_counts(self, certificates: Certificates, pod: Path) -> None:
        with scripted(certificates, answer(**DENIED)) as server:
            (result,) = check(pod, server.url, certificates, "-o", "json").json()["results"]
        (found,) = result["findings"]
        assert (found["message"], found["line"], found["difference"]) == ("too many; ask for fewer", 8, "changed")
        assert found["remedy"] == "run gpushare-webhook explain GPS001"


class TestReviewErrors:
    """A review that the server does not answer: an error at the object. Other objects are still sent."""

    @pytest.mark.parametrize(
        ("problem", "message"),
        [
            (status("400 Bad Request", "the object is malformed at /spec"), "the server answers 400: the object is"),
            (status("413 Too Large", "too long"), "the server answers 413: too long; split the object, or raise"),
            (status("500 Oops", "\x1b[31m"), "the server answers 500: ?[31m; check the log of the webhook"),
            (answer(uid="other"), 'the response answers another review: its uid is "other", not "'),
            (raw(http(b"<html>")), "the response is not an AdmissionReview; check that the address is the review port"),
            (answer(allowed=False), 'is denied in a form that gpushare-webhook does not use: ""'),
            (
                answer(auditAnnotations={"findings": "GPS001=deny"}),
                "the object is allowed in spite of a finding that denies it",
            ),
            (
                answer(patch="W3sib3AiOiJyZW1vdmUiLCJwYXRoIjoiL3NwZWMiLCJ2YWx1ZSI6bnVsbH1d"),
                "the patch of the mutating hook does not apply: /spec: not an addition",
            ),
        ],
    )
    def test_message(self, problem: Answer, message: str, certificates: Certificates, pod: Path) -> None:
        with scripted(certificates, problem) as server:
            line = one_error(check(pod, server.url, certificates))
        assert line.startswith(f"{pod}:1:1: Pod team-a/train got no answer: ")
        assert message in line

    def test_other_objects_are_sent(self, certificates: Certificates, many: Path) -> None:
        with scripted(certificates, answer(), status("400 Bad Request", "no"), answer()) as server:
            ended = check(many, server.url, certificates)
        assert (ended.code, len(server.paths)) == (2, 3)
        assert ended.out.startswith("2 objects: 2 allowed; 1 input")


class TestServerErrors:
    """A server that cannot be reached, or is no webhook: an error at the object, and one for all that follow."""

    @pytest.mark.parametrize(
        ("problem", "message"),
        [
            (status("404 Not Found", "no such path"), "answers 404: no such path; name the review port of "),
            (raw(http(b"<html>", "404 Not Found")), "answers 404; name the review port of gpushare-webhook"),
            (status("403 Forbidden", "the common name"), "answers 403: the common name; pass --client-cert and --clie"),
            (status("302 Found", "", "Location: /"), "answers 302; check that the address is that of gpushare-webhook"),
            (status("503 Busy", "at capacity"), "answers 503: at capacity; retry later"),
            (raw(b"SSH-2.0-OpenSSH_9.6\r\n"), "does not answer in HTTP; name the review port of gpushare-webhook"),
            (raw_close, "closes the connection without a response; check the log of the webhook, and pass"),
            (
                raw(http(b"{}", "200 OK", "Connection: close")[:-1].replace(b"Length: 2", b"Length: 9")),
                "closes the connection in the middle of a response; check the log of the webhook",
            ),
            (
                raw(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b"[" * (LARGEST + 1)),
                "sends a response of more than 8 MiB; name the review port of gpushare-webhook",
            ),
            (raw(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 1000), "does not answer in HTTP; name the review port"),
            (raw(b"HTTP/1.1 200 " + b"A" * 100_000), "does not answer in HTTP; name the review port of gpushare-"),
        ],
    )
    def test_message(self, problem: Answer, message: str, certificates: Certificates, pod: Path) -> None:
        with scripted(certificates, problem) as server:
            line = one_error(check(pod, server.url, certificates))
        assert line.startswith(f"{pod}:1:1: Pod team-a/train got no answer: {server.url} {message}")

    def test_further_objects_are_not_sent(self, certificates: Certificates, many: Path) -> None:
        many.write_text(many.read_text() + "---\n" + DEPLOYMENT)
        with scripted(certificates, answer(), status("404 Not Found", "gone")) as server:
            ended = check(many, server.url, certificates)
        assert ended.code == 2
        assert len(server.paths) == 2
        assert ended.out.startswith("1 object: 1 allowed; 2 inputs")
        first, second = ended.err.splitlines()
        assert first.endswith("answers 404: gone; name the review port of gpushare-webhook")
        assert second == f"{server.url}: the webhook failed, so 2 other objects are not checked"

    def test_server_that_dies_in_the_middle(self, certificates: Certificates, tmp_path: Path) -> None:
        first, second = tmp_path / "first.yaml", tmp_path / "second"
        first.write_text(DEPLOYMENT)
        os.mkfifo(second)
        with serve(certificates) as server:
            killer = threading.Thread(target=kill_before, args=(server, second), daemon=True)
            killer.start()
            url = f"https://localhost:{server.client.port}"
            ended = run("check", first, second, "--server", url, "--ca", certificates.authority)
            killer.join(10)
        assert ended.code == 2
        assert ended.out.startswith("1 object: 1 allowed; 1 input")
        assert f"{second}:1:1: Deployment web got no answer: {url} refuses the connection" in ended.err


def kill_before(server: Serve, file: Path) -> None:
    """Kill a server once a named pipe is read, which is after the objects before it, and write an object into it."""
    with file.open("w") as pipe:
        server.end(signal.SIGKILL)
        pipe.write(DEPLOYMENT)


class TestRetries:
    """Responses that a server wants to be retried."""

    def test_overload_is_retried(self, certificates: Certificates, many: Path) -> None:
        busy = status("503 Service Unavailable", "at capacity", "Retry-After: 0", "Connection: close")
        with scripted(certificates, busy, busy, answer()) as server:
            assert check(many, server.url, certificates).code == 0
        assert (server.connections, len(server.paths)) == (3, 5)

    def test_retries_end(self, certificates: Certificates, pod: Path) -> None:
        with scripted(certificates, status("503 Service Unavailable", "at capacity", "Retry-After: 0")) as server:
            assert "answers 503: at capacity; retry later" in one_error(check(pod, server.url, certificates))
        assert len(server.paths) == 11

    def test_wait_beyond_timeout_is_not_begun(self, certificates: Certificates, pod: Path) -> None:
        with scripted(certificates, status("503 Service Unavailable", "", "Retry-After: 600")) as server:
            assert "answers 503; retry later" in one_error(check(pod, server.url, certificates))
        assert len(server.paths) == 1


class TestTls:
    """Certificates that are not those of the webhook, and addresses where none is."""

    def test_unknown_authority(self, certificates: Certificates, pod: Path, tmp_path: Path) -> None:
        with scripted(certificates, answer()) as server:
            line = one_error(check(pod, server.url, issue(tmp_path)))
        assert line.endswith(
            "has a certificate of an unknown authority; pass the CA bundle of the webhook configuration with --ca"
        )
        assert server.paths == []

    def test_system_authorities_without_ca(self, certificates: Certificates, pod: Path) -> None:
        with scripted(certificates, answer()) as server:
            assert "of an unknown authority" in one_error(run("check", pod, "--server", server.url))

    def test_other_name(self, certificates: Certificates, pod: Path) -> None:
        with scripted(certificates, answer()) as server:
            line = one_error(check(pod, server.url, certificates, "--server-name", "webhook.team-a.svc"))
        assert "has a certificate for another name than webhook.team-a.svc; name the webhook's Service with" in line

    def test_server_name_is_verified_in_place_of_host(self, pod: Path, tmp_path: Path) -> None:
        named = signed(tmp_path, ["webhook.team-a.svc"])
        with scripted(named, answer()) as server:
            assert "another name than localhost" in one_error(check(pod, server.url, named))
            assert check(pod, server.url, named, "--server-name", "webhook.team-a.svc").code == 0

    def test_expired(self, pod: Path, tmp_path: Path) -> None:
        old = signed(tmp_path, ["localhost"], datetime.now(UTC) - timedelta(days=9))
        with scripted(old, answer()) as server:
            line = one_error(check(pod, server.url, old))
        assert line.endswith("has a certificate that has expired; renew it, and check the clock of this machine")

    def test_client_certificate(self, certificates: Certificates, pod: Path, tmp_path: Path) -> None:
        now = datetime.now(UTC)
        clients = Authority.create("clients", now, timedelta(hours=1))
        (tmp_path / "clients.crt").write_bytes(clients.bundle())
        (tmp_path / "api-server.pem").write_bytes(client_certificate(clients, "kube-apiserver"))
        (tmp_path / "other.pem").write_bytes(client_certificate(clients, "someone"))
        settings = tmp_path / "settings.yaml"
        own = {"clientCA": str(tmp_path / "clients.crt"), "clientSubjects": ["kube-apiserver"]}
        settings.write_text(json.dumps({"tls": own, "server": {"shutdownDelay": "0s"}}))
        remedy = "pass --client-cert and --client-key of a client that tls.clientCA and tls.clientSubjects allow"
        with serve(certificates, "--config", str(settings)) as server:
            url = f"https://localhost:{server.client.port}"
            assert "pass --client-cert" in one_error(check(pod, url, certificates))
            line = one_error(check(pod, url, certificates, "--client-cert", tmp_path / "other.pem"))
            assert line.endswith(
                f"answers 403: the common name of the client certificate is not in tls.clientSubjects; {remedy}"
            )
            assert check(pod, url, certificates, "--client-cert", tmp_path / "api-server.pem").code == 1

    def test_refused(self, certificates: Certificates, pod: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        line = one_error(check(pod, f"https://localhost:{port}", certificates))
        assert line.endswith(
            f"https://localhost:{port} refuses the connection; start the webhook or kubectl port-forward, "
            "and check the port"
        )

    def test_health_port(self, certificates: Certificates, pod: Path) -> None:
        with serve(certificates) as server:
            line = one_error(check(pod, f"https://localhost:{server.client.health_port}", certificates))
        assert line.endswith("does not speak TLS; name the review port of gpushare-webhook, not its health port")

    def test_unknown_host(self, certificates: Certificates, pod: Path) -> None:
        line = one_error(check(pod, "https://webhook.invalid:8443", certificates))
        assert line.endswith("https://webhook.invalid:8443 cannot be resolved; check the name of the host")


def signed(folder: Path, hosts: list[str], since: datetime | None = None) -> Certificates:
    """Certificates for these hosts, valid for a day."""
    begin = since or datetime.now(UTC)
    made = issue(folder)
    authority = Authority.create("test", begin, timedelta(days=30))
    leaf = authority.sign(hosts, begin, timedelta(days=1))
    made.authority.write_bytes(authority.bundle())
    made.certificate.write_bytes(leaf.certificate)
    made.key.write_bytes(leaf.key)
    return made


class TestUsage:
    """Options that cannot be used: nothing is read, and nothing is sent."""

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--server", "http://localhost:8443"], "reviews are served over TLS only; write https://"),
            (["--server", "localhost:8443"], "name scheme, host and port, such as https://localhost:8443"),
            (["--server", "https://"], "name scheme, host and port, such as https://localhost:8443"),
            (["--server", "https://a:b"], "name scheme, host and port, such as https://localhost:8443"),
            (["--server", "https://a:99999"], "name scheme, host and port, such as https://localhost:8443"),
            (["--server", "https://[::1"], "name scheme, host and port, such as https://localhost:8443"),
            (["--server", "https://me:secret@a"], "name scheme, host and port, such as https://localhost:8443"),
            (["--server", "https://a/validate"], "leave out what follows the port; check appends"),
            (["--ca", "ca.crt"], "--ca: needs --server URL, which names the webhook"),
            (["--server", "https://a", "--client-key", "k"], "--client-key needs --client-cert"),
            (["--server", "https://a", "--ca", "/missing.crt"], "/missing.crt: cannot be used: no such file"),
            (["--server", "https://a", "--ca", __file__], "cannot be used: name a file of certificates in PEM"),
            (
                ["--server", "https://a", "--client-cert", __file__],
                "cannot be used: name a certificate and its key in PEM, without a passphrase",
            ),
        ],
    )
    def test_message(self, options: list[str], message: str, pod: Path) -> None:
        ended = run("check", pod, *options)
        assert (ended.code, ended.out) == (2, "")
        assert message in " ".join(ended.err.split())
