"""The switch of an emergency: an annotation on the chart's ServiceAccount, and the settings, in force within seconds.

The seconds count from the return of the write until the last replica shows the change.
"""

from __future__ import annotations

import json
import re
import time
from contextlib import contextmanager, suppress
from threading import Event
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.cluster.harness.command import command
from tests.cluster.harness.manifests import GPU, container, pod
from tests.cluster.harness.release import CORE, NAME, NAMESPACE, RELEASE, SELECTOR, prepared
from tests.cluster.harness.servers import ServerPod
from tests.cluster.harness.waiting import met, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.release import Release
    from tests.cluster.harness.workspace import Workspace

MODE = "gpushare-webhook/mode"
pytestmark = pytest.mark.alone

CONTRACT = 3.0
"""Seconds within which a change is in force on all replicas."""

CONFIG_MAP = f"{CORE}/configmaps/{NAME}"
ACCOUNT = f"{NAME}-mode"
DETAILS = "/readyz?verbose"
FROZEN = 20.0
"""Seconds without the API server: longer than the probes of a replica may fail."""

ROLE = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}/roles/{NAME}"


@pytest.fixture(scope="module")
def installed(cluster: Cluster) -> Iterator[Release]:
    with prepared(cluster, "self-managed") as release:
        release.upgrade()
        yield release


@pytest.fixture
def release(installed: Release) -> Iterator[Release]:
    """The release, without an annotation before and after the test."""
    yield installed
    _annotate(installed, f"{MODE}-")
    _in_force(installed, lambda said: "mode capped" not in said)


def _annotate(release: Release, *arguments: str) -> None:
    release.cluster.kubectl(
        "annotate", "serviceaccount", ACCOUNT, f"--namespace={NAMESPACE}", "--overwrite", *arguments
    )


def _in_force(release: Release, shown: Callable[[str], bool], *, seconds: float = CONTRACT) -> str:
    """Wait until each replica shows a change in `/readyz?verbose`; returns the seconds that it took, in words."""
    began = time.monotonic()
    servers = release.servers()
    wait_for(
        "all replicas",
        lambda: all(shown(one.health(DETAILS)) for one in servers),
        seconds=seconds,
        every=0.05,
    )
    return f"{time.monotonic() - began:.2f} s on {len(servers)} replicas"


def _capped(mode: str) -> Callable[[str], bool]:
    return lambda said: f"mode capped to {mode}" in said


def _try(space: Workspace, gpus: int = 2) -> tuple[bool, str]:
    """Whether the API server accepts a pod, and the warnings, without creating it."""
    done = space.run("create", "--dry-run=server", "-f", "-", manifest=pod("two", container(gpus=gpus)))
    return done.returncode == 0, done.stderr


@pytest.mark.parametrize(("mode", "warns"), [("warn", True), ("off", False)])
def test_annotation_is_in_force_on_all_replicas(
    release: Release, space: Workspace, mode: str, warns: bool, record_property: Callable[[str, object], None]
) -> None:
    assert not _try(space)[0]
    _annotate(release, f"{MODE}={mode}")
    record_property(f"{mode} in force after", _in_force(release, _capped(mode)))
    tried = [_try(space) for _ in range(4)]
    assert [(accepted, "GPS001" in warnings) for accepted, warnings in tried] == [(True, warns)] * 4
    assert [one.metric("gpushare_webhook_mode_cap", mode=mode) for one in release.servers()] == [1, 1]
    _annotate(release, f"{MODE}-")
    record_property(f"{mode} lifted after", _in_force(release, lambda said: "mode capped" not in said))
    assert [_try(space)[0] for _ in range(4)] == [False] * 4


def _logged(release: Release, event: str) -> list[int]:
    """How often each replica has logged an event."""
    logs = [release.cluster.kubectl("logs", f"--namespace={NAMESPACE}", one.name) for one in release.servers()]
    return [log.count(f'"event":"{event}"') for log in logs]


def test_changed_settings_are_in_force_and_wrong_ones_do_not_block_cap(
    release: Release, space: Workspace, record_property: Callable[[str, object], None]
) -> None:
    before = _text(release)
    with _settings(release, f"mode: warn\n{before}"):
        record_property("settings in force after", _in_force(release, lambda said: "generation 2" in said))
        assert "GPS001" in _try(space)[1]
        digests = {one.metric("gpushare_webhook_digest", of="settings") for one in release.servers()}
        assert len(digests) == 1
        release.cluster.kubectl(*_patch("mode: [\n"))
        wait_for("both replicas to reject it", lambda: _logged(release, "reload rejected") == [1, 1])
        _annotate(release, f"{MODE}=off")
        record_property("off in force beside wrong settings after", _in_force(release, _capped("off")))
    _in_force(release, lambda said: "generation 3" in said)


def test_helm_overwrites_settings_that_kubectl_wrote_only_when_forced(release: Release) -> None:
    """Helm 4 applies server-side, so that it reports a conflict; the annotation causes none."""
    other = {"config": {"mode": "audit"}}
    _annotate(release, f"{MODE}=off")
    with _settings(release, f"mode: warn\n{_text(release)}"):
        with pytest.raises(RuntimeError, match=r"conflict with .kubectl-patch. using v1: \.data\.settings\.yaml"):
            release.upgrade(other)
        release.upgrade(other, flags=("--force-conflicts",))
        assert yaml.safe_load(_text(release))["mode"] == "audit"
        _in_force(release, _capped("off"))


def test_refused_settings_are_an_event_that_doctor_repeats(release: Release) -> None:
    events = f"{CORE}/events?fieldSelector=reason=SettingsRefused"
    with _settings(release, f"{_text(release)}\nmode: strict\n"):
        _in_force(release, lambda said: "[ ]settings refused: none" not in said)
        (first, *_) = wait_for("the event", lambda: release.cluster.api.items(events))
        assert first["involvedObject"]["name"] == NAME
        assert "the last valid settings stay in force: " in first["message"]
        assert "settings-invalid" in command(release.cluster, "doctor").stdout
        first, *_ = release.pods()
        release.cluster.api.delete(f"{CORE}/pods/{first['metadata']['name']}")

        def repeats() -> bool:
            said = " ".join(command(release.cluster, "doctor").stdout.split())
            return bool(re.search(r'pod \S+: container \S+ .{0,99}mode: must be "enforce"', said))

        wait_for("doctor to repeat why the new replica ends", repeats, every=1)
    wait_for("both replicas", lambda: [met(one, "Ready") for one in release.pods()] == [True, True])
    _in_force(release, lambda said: "[ ]settings refused: none" in said)


def _text(release: Release) -> str:
    text: str = release.cluster.api.get(CONFIG_MAP)["data"]["settings.yaml"]
    return text


@contextmanager
def _settings(release: Release, text: str) -> Iterator[None]:
    """Other settings for the time of the context, written with kubectl."""
    before = _text(release)
    release.cluster.kubectl(*_patch(text))
    try:
        yield
    finally:
        release.cluster.kubectl(*_patch(before))


def _patch(text: str) -> tuple[str, ...]:
    return (
        "patch",
        "configmap",
        NAME,
        f"--namespace={NAMESPACE}",
        f"--patch={json.dumps({'data': {'settings.yaml': text}})}",
    )


def test_bare_pod_is_applied_again_after_switch_to_off(release: Release, space: Workspace) -> None:
    """`kubectl apply` drops the injected tolerations, which an update of a pod must keep."""
    bare = pod("bare", schedulerName="none")
    space.kubectl("apply", "-f", "-", manifest=bare)
    injected = space.stored("Pod", "bare")["spec"]
    assert GPU in _keys(injected)
    _annotate(release, f"{MODE}=off")
    _in_force(release, _capped("off"))
    space.kubectl("apply", "-f", "-", manifest=bare)
    assert space.stored("Pod", "bare")["spec"] == injected
    space.kubectl("apply", "-f", "-", manifest=pod("later", schedulerName="none"))
    assert GPU not in _keys(space.stored("Pod", "later")["spec"])


def _keys(spec: Object) -> list[str]:
    return [one.get("key", "") for one in spec.get("tolerations", [])]


def test_deleted_config_map_changes_nothing_until_it_is_back(
    release: Release, space: Workspace, record_property: Callable[[str, object], None]
) -> None:
    _annotate(release, f"{MODE}=warn")
    _in_force(release, _capped("warn"))
    release.cluster.api.delete(CONFIG_MAP)
    try:
        shown = _in_force(release, lambda said: f"ConfigMap {NAMESPACE}/{NAME}, failing" in said)
        record_property("deletion shown after", shown)
        assert all(met(one, "Ready") for one in release.pods())
        _in_force(release, _capped("warn"))
    finally:
        release.upgrade()
    shown = _in_force(release, lambda said: "failing" not in said)
    record_property("return in force after", shown)
    assert _logged(release, "installed settings are missing") == [1, 1]
    assert _try(space)[0]


def test_cap_ends_with_its_account(release: Release, space: Workspace) -> None:
    _annotate(release, f"{MODE}=warn")
    _in_force(release, _capped("warn"))
    release.cluster.api.delete(f"{CORE}/serviceaccounts/{ACCOUNT}")
    try:
        _in_force(release, lambda said: "mode capped" not in said)
        assert not _try(space)[0]
    finally:
        release.upgrade()


def test_frozen_api_server_restarts_nothing_and_is_followed_again(
    release: Release, record_property: Callable[[str, object], None]
) -> None:
    servers, before = release.servers(), _states(release)
    with release.cluster.control.processes["api-server"].suspended():
        said = _said_for(servers, FROZEN)
    began = time.monotonic()
    wait_for("the API server", release.cluster.api.ready, every=0.05)
    answered = time.monotonic() - began
    _annotate(release, f"{MODE}=warn")
    shown = _in_force(release, _capped("warn"))
    record_property("API server answers", f"{answered:.2f} s after {FROZEN:.0f} s, and a cap is in force after {shown}")
    assert said == {"ok\n"}
    assert _states(release) == before


def _said_for(servers: list[ServerPod], seconds: float) -> set[str]:
    """All that the replicas answer to the readiness probe in this time."""
    said: set[str] = set()
    pause, ends = Event(), time.monotonic() + seconds
    while time.monotonic() < ends:
        said |= {one.health("/readyz") for one in servers}
        pause.wait(0.2)
    return said


def _states(release: Release) -> dict[str, tuple[int, str]]:
    """How often each replica's container was restarted, and since when the replica is ready."""
    return {
        one["metadata"]["name"]: (
            one["status"]["containerStatuses"][0]["restartCount"],
            next(state["lastTransitionTime"] for state in one["status"]["conditions"] if state["type"] == "Ready"),
        )
        for one in release.pods()
    }


def test_new_replica_without_a_verb_is_ready_and_follows_once_granted(release: Release) -> None:
    granted = release.cluster.api.get(ROLE)["rules"]
    _grant(release, [_without("watch", rule) for rule in granted])
    try:
        before = release.servers()
        release.cluster.api.delete(f"{CORE}/pods/{before[0].name}")
        wait_for("two ready replicas", lambda: _ready(release) - {before[0].name})
        said = f"from: ConfigMap {NAMESPACE}/{NAME}, failing\n"
        # The watch of the other replica may end meanwhile, and fail too.
        (new,) = [one for one in release.servers() if one.name not in {old.name for old in before}]
        wait_for("the failure", lambda: said in new.health(DETAILS))
        log = release.cluster.kubectl("logs", f"--namespace={NAMESPACE}", new.name)
        assert log.count(f"not allowed to watch configmaps {NAMESPACE}/{NAME}; add this rule to a Role") == 1
    finally:
        _grant(release, granted)
    _annotate(release, f"{MODE}=warn")
    _in_force(release, _capped("warn"), seconds=70)


def _grant(release: Release, rules: list[Object]) -> None:
    release.cluster.api.patch(ROLE, {"rules": rules})


def _without(verb: str, rule: Object) -> Object:
    """The rule for ConfigMaps without a verb; other rules as they are."""
    if rule["resources"] != ["configmaps"]:
        return rule
    return {**rule, "verbs": [one for one in rule["verbs"] if one != verb]}


def _ready(release: Release) -> set[str]:
    """The names of its pods, if two of them are ready; else none."""
    ready = {one["metadata"]["name"] for one in release.pods() if met(one, "Ready")}
    return ready if len(ready) == len(release.pods()) == 2 else set()


def test_replica_that_restarts_is_ready_only_with_cap(release: Release) -> None:
    _annotate(release, f"{MODE}=off")
    _in_force(release, _capped("off"))
    before = {one.name for one in release.servers()}
    release.cluster.kubectl("delete", "pod", f"--namespace={NAMESPACE}", f"--selector={SELECTOR}", "--wait=false")
    ready_with: list[bool] = []

    def replaced() -> bool:
        ready = [said for said in _answers_of_new(release, before) if said.endswith("\nok\n")]
        ready_with.extend("mode capped to off" in said for said in ready)
        return bool(_ready(release) - before)

    wait_for("two new replicas", replaced, every=0.05)
    assert ready_with
    assert all(ready_with)


def _answers_of_new(release: Release, before: set[str]) -> Iterator[str]:
    """What the replicas that were not there before say about themselves, as far as they answer."""
    for one in release.pods():
        name, address = one["metadata"]["name"], one["status"].get("podIP")
        if name not in before and address is not None:
            with suppress(OSError):
                yield ServerPod(release.cluster, name, one["metadata"]["uid"], address).health(DETAILS)


TOOLS: dict[str, Callable[[Release], object]] = {
    "helm upgrade": lambda release: release.upgrade(),
    "helm upgrade with other settings": lambda release: release.upgrade({"config": {"mode": "enforce"}}),
    "helm upgrade --server-side=false": lambda release: release.upgrade(flags=("--server-side=false",)),
    "helm upgrade --server-side=true --force-conflicts": lambda release: release.upgrade(
        {"config": {"mode": "enforce"}}, flags=("--server-side=true", "--force-conflicts")
    ),
    "helm rollback": lambda release: release.helm("rollback", RELEASE, "1", "--wait", "--timeout=180s"),
    "kubectl apply": lambda release: _kubectl(release, "apply"),
    "kubectl apply --server-side --force-conflicts": lambda release: _kubectl(
        release, "apply", "--server-side", "--force-conflicts"
    ),
    "kubectl replace": lambda release: _kubectl(release, "replace"),
}
"""What administrators install the chart with, in the order in which the test runs them."""


def _kubectl(release: Release, *command: str) -> None:
    rendered = release.rendered("modeaccount.yaml")
    rendered["metadata"]["annotations"] = {"applied-by": "-".join(command[:1])}
    release.cluster.kubectl(*command, f"--namespace={NAMESPACE}", "-f", "-", manifest=yaml.safe_dump(rendered))


def test_upgrades_keep_annotation(release: Release, record_property: Callable[[str, object], None]) -> None:
    release.cluster.api.delete(f"{CORE}/serviceaccounts/{ACCOUNT}")
    release.upgrade()  # Helm owns it alone, whatever other tests wrote
    kept = {}
    for tool, run in TOOLS.items():
        _annotate(release, f"{MODE}=warn")
        run(release)
        kept[tool] = MODE in (
            release.cluster.api.get(f"{CORE}/serviceaccounts/{ACCOUNT}")["metadata"].get("annotations") or {}
        )
        record_property(tool, "kept" if kept[tool] else "lost")
    assert [tool for tool, survives in kept.items() if not survives] == ["kubectl replace"]
