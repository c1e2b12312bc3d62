"""`audit` of live objects in a real API server says what its hooks say to their creation."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from copy import deepcopy
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.cli.run import run
from tests.cluster.generated_pods import OWN_CLASS, generated
from tests.cluster.harness.custom_kinds import open_kind
from tests.cluster.harness.hooks import hooks, namespace, rejection
from tests.cluster.harness.manifests import CLASSES, container, deployment, pod, pod_spec
from tests.cluster.harness.reviews import reviewer
from tests.cluster.harness.waiting import wait_for
from tests.cluster.sources import SETTINGS, TEAM, Sources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.cluster.harness.api import Api, Object

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
INSTALLED = "installation"
PODS = f"/api/v1/namespaces/{TEAM}/pods"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{TEAM}/deployments"

BEFORE, AFTER = 120, 120
"""Pods that exist when the hooks are installed, and pods that are created through them."""


class Said(NamedTuple):
    """What is said about an object: the lines of a denial, or the warnings."""

    denials: frozenset[str]
    warnings: frozenset[str]


@pytest.fixture(scope="module")
def found(fact_sources: Sources) -> Iterator[Sources]:
    """The sources of facts, beside the settings of an installation and the runtime class of an author."""
    api = fact_sources.running.api
    text = json.dumps({"apiVersion": "gpushare-webhook/v1", "kind": "Settings", **SETTINGS})
    with (
        api.created(CONFIG_MAPS, {"metadata": {"name": INSTALLED}, "data": {"settings.yaml": text}}),
        api.created(CLASSES, {"metadata": {"name": OWN_CLASS}, "handler": "nvidia"}),
    ):
        yield fact_sources


@contextmanager
def hooked(found: Sources) -> Iterator[None]:
    """The webhook with all its facts, called for all namespaces."""
    running = found.running
    with reviewer(running, SETTINGS, found.kubeconfig) as ready:
        denied = pod("denied", container(gpus=2))
        with hooks(running, ready.webhook.client_config, lambda: "GPS001" in rejection(running, denied)):
            yield


def replayed(api: Api, path: str, manifest: Object) -> Said:
    """What the API server says to another creation of an object."""
    copy = deepcopy(manifest)
    copy["metadata"] |= {"name": f"replay-{manifest['metadata']['name']}", "namespace": TEAM}
    connection = api.connection()
    try:
        connection.request("POST", f"{path}?dryRun=All", json.dumps(copy), api.headers())
        answer = connection.getresponse()
        warned, body = answer.headers.get_all("Warning", []), answer.read()
    finally:
        connection.close()
    if answer.status > 299:
        *lines, ending = json.loads(body)["message"].partition("denied the request: ")[2].splitlines()
        assert ending.startswith("gpushare-webhook explain "), body
        return Said(frozenset(lines), frozenset())
    texts = [match[1].replace('\\"', '"') for one in warned if (match := re.match(r'299 \S+ "(.*)"$', one))]
    return Said(frozenset(), frozenset(text for text in texts if text.startswith("GPS")))


def audited(found: Sources, *options: str) -> dict[str, Said]:
    """What the audit says about each object of the namespace, by kind and name."""
    ended = run("audit", *cluster_of(found), "-n", TEAM, "-o", "json", *options)
    assert ended.code in (0, 1), ended.err
    report = ended.json()
    assert report["leftOut"] == []
    return {f"{one['object']['kind']}/{one['object']['name']}": said(one) for one in report["results"]}


def said(result: Object) -> Said:
    """A result of the audit in the words of the API server, which says nothing of warnings where it denies."""
    findings = result["findings"]
    denials = frozenset("{code} {message}; {remedy}".format(**one) for one in findings if one["severity"] == "deny")
    warnings = frozenset("{code} {message}".format(**one) for one in findings if one["severity"] == "warn")
    return Said(denials, frozenset() if denials else warnings)


def cluster_of(found: Sources) -> tuple[str, ...]:
    admin = str(found.running.control.kubeconfigs["admin"])
    return "--kubeconfig", admin, "--installed-as", f"default/{INSTALLED}"


def created(api: Api, path: str, manifests: Sequence[Object]) -> list[Object]:
    """The manifests of which the API server accepts the objects."""
    accepted = []
    for one in manifests:
        status, _, answer = api.request("POST", path, one)
        assert status == 201 or b"denied the request: GPS0" in answer, answer
        accepted += [one] if status == 201 else []
    return accepted


def test_audit_equals_replayed_creates(found: Sources, record_property: Callable[[str, object], None]) -> None:
    api, random = found.running.api, Random(30)  # noqa: S311
    early = created(api, PODS, [generated(random, f"early-{number}") for number in range(BEFORE)])
    assert len(early) == BEFORE
    sets = [deployment(f"set-{gpus}", container(gpus=gpus), replicas=3) for gpus in (0, 1, 2)]
    created(api, DEPLOYMENTS, sets)
    wait_for("the pods of the deployments", lambda: len(api.items(f"{PODS}?labelSelector=app")) == 9)
    with hooked(found):
        late = created(api, PODS, [generated(random, f"late-{number}") for number in range(AFTER)])
        expected = {f"Pod/{one['metadata']['name']}": replayed(api, PODS, one) for one in (*early, *late)}
        expected |= {f"Deployment/{one['metadata']['name']}": replayed(api, DEPLOYMENTS, one) for one in sets}
    assert audited(found) == expected
    denied = sum(bool(one.denials) for one in expected.values())
    warned = sum(bool(one.warnings) for one in expected.values())
    mutated = sum("gpushare-webhook/injected" in one["metadata"].get("annotations", {}) for one in api.items(PODS))
    record_property(
        "equal", f"{len(expected)} objects: {denied} denied, {warned} warned; {mutated} pods with our edits"
    )
    assert min(denied, warned, mutated) >= 10


def test_mode_of_audit_shows_what_enforcement_denies(found: Sources) -> None:
    lenient = "lenient-team"
    with namespace(found.running, lenient, **{"gpu-rules": "lenient"}):
        found.running.api.create(f"/api/v1/namespaces/{lenient}/pods", pod("two", container(gpus=2)))
        options = ("audit", *cluster_of(found), "-n", lenient, "-o", "json")
        before, raised = run(*options), run(*options, "--mode", "enforce")
        with hooked(found):
            assert rejection(found.running, pod("again", container(gpus=2)), lenient) == ""
        assert (before.code, before.json()["summary"]["warned"]) == (0, 1)
        assert (raised.code, raised.json()["summary"]["denied"]) == (1, 1)


@pytest.fixture
def job_sets(found: Sources) -> Iterator[str]:
    """The path of the custom kind JobSet, with any content, in a cluster that serves no other preset."""
    with open_kind(found.running.api, "jobset.x-k8s.io/v1alpha2", "JobSet", TEAM) as path:
        yield path


def test_served_preset_is_audited_and_owns_its_jobs(found: Sources, job_sets: str) -> None:
    api = found.running.api
    template = {"metadata": {}, "spec": pod_spec(container(gpus=2), restartPolicy="Never")}
    job = {"name": "workers", "replicas": 1, "template": {"spec": {"template": template}}}
    body = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": {"replicatedJobs": [job]}}
    made = api.create(job_sets, {**body, "metadata": {"name": "train"}})
    owner = {key: made[key] for key in ("apiVersion", "kind")} | {
        "name": "train",
        "uid": made["metadata"]["uid"],
        "controller": True,
    }
    metadata = {"name": "train-workers-0", "ownerReferences": [owner]}
    jobs = f"/apis/batch/v1/namespaces/{TEAM}/jobs"
    api.create(jobs, {"metadata": metadata, "spec": {"template": template}})
    wait_for("the pod of the job", lambda: api.items(f"{PODS}?labelSelector=job-name=train-workers-0"))
    with hooked(found):
        expected = replayed(api, job_sets, {**body, "metadata": {"name": "train"}})
    report = run("audit", *cluster_of(found), "-n", TEAM, "-o", "json").json()
    (line,) = [one for one in report["results"] if one["object"]["kind"] == "JobSet"]
    assert (line["object"]["apiVersion"], line["pods"], said(line)) == ("jobset.x-k8s.io/v1alpha2", 1, expected)
    assert expected.denials
    assert not [one for one in report["results"] if "train-workers-0" in one["object"]["name"]]
    api.delete(f"{jobs}/train-workers-0?propagationPolicy=Background")
