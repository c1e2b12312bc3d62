"""The pages for an emergency, word by word: their commands cap the mode, show it on every replica, and roll back."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.creates import creating, lost, summary
from tests.cluster.harness.hooks import rejection
from tests.cluster.harness.manifests import container, pod
from tests.cluster.harness.reader import Reader
from tests.cluster.harness.release import prepared
from tests.cluster.harness.waiting import met, wait_for
from tests.project.pages import page_block

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.release import Release
    from tests.cluster.harness.workspace import Workspace

SECONDS = 3.0
"""The pages promise that a change is in force on all replicas within this time."""


@pytest.fixture(scope="module")
def release(cluster: Cluster) -> Iterator[Release]:
    with prepared(cluster, "self-managed") as release:
        release.upgrade()
        yield release


@pytest.fixture
def reader(release: Release) -> Reader:
    return Reader(release.cluster)


def refused(release: Release) -> bool:
    return "GPS001" in rejection(release.cluster, pod("two", container(gpus=2)))


@pytest.fixture(params=["helm", "kubectl apply", "kubectl apply --server-side"])
def installed(release: Release, request: pytest.FixtureRequest) -> Iterator[Release]:
    """The release, and the same objects made by other tools: from plain manifests, and as GitOps tools apply them."""
    if request.param == "helm":
        release.upgrade()
        yield release
        return
    release.uninstall()
    manifests = release.manifests()
    release.cluster.kubectl(*request.param.split()[1:], "--filename=-", manifest=manifests)
    try:
        wait_for("the replicas", lambda: sum(met(one, "Ready") for one in release.pods()) == 2)
        yield release
    finally:
        release.cluster.kubectl("delete", "--filename=-", "--wait", manifest=manifests)
        release.upgrade()


def test_annotation_of_page_turns_denial_into_warning_and_back(
    installed: Release, reader: Reader, record_property: Callable[[str, object], None]
) -> None:
    release = installed
    cap = page_block("docs/how-to/emergency.md", "mode=warn")
    show = page_block("docs/how-to/emergency.md", "get --raw")
    lift = page_block(
        "docs/how-to/emergency.md",
        "annotate serviceaccount gpushare-webhook-mode --namespace gpushare-webhook gpushare",
    )
    replicas = len(release.pods())
    wait_for("the webhook to reject", lambda: refused(release))

    reader.succeed(cap)
    began = time.monotonic()
    capped = "mode capped to warn"
    shown = wait_for("every replica to show the cap", lambda: reader.run(show).count(capped) == replicas)
    took = time.monotonic() - began
    record_property("in force", f"on {replicas} replicas after {took:.1f} s, the commands' own time included")
    assert shown
    assert not refused(release)

    reader.succeed(lift)
    wait_for("every replica to show no cap", lambda: "mode capped" not in reader.succeed(show), seconds=SECONDS)
    wait_for("the webhook to reject again", lambda: refused(release), seconds=SECONDS)


def test_rollback_of_page_restores_settings_on_all_replicas(
    release: Release, reader: Reader, space: Workspace, record_property: Callable[[str, object], None]
) -> None:
    """The change is valid, and rejects what was admitted before."""
    compare = page_block("docs/how-to/roll-back.md", "diff <(")
    back = page_block("docs/how-to/roll-back.md", "helm rollback")
    curious = pod("curious", hostPID=True)
    assert rejection(release.cluster, curious) == ""
    good = _settings(release)
    release.upgrade({"config": {"severities": {"GPS009": "deny"}}})
    wait_for("the new settings", lambda: "GPS009" in rejection(release.cluster, curious), seconds=SECONDS)
    assert "> " in reader.run(compare)
    assert "GPS009: deny" in reader.run(compare)

    with creating(space, rate=10) as creates:
        creates.wait_for_more()
        began = time.monotonic()
        reader.succeed(back)
        returned = time.monotonic()
        wait_for("the old settings", lambda: _settings(release) == good, seconds=SECONDS, every=0.05)
        took = time.monotonic() - returned
        creates.wait_for_more()
    record_property("rolled back", f"in {returned - began:.1f} s, in force on both replicas {took:.2f} s later")
    record_property("meanwhile", f"{summary(creates.answered)}; {len(lost(creates.answered))} lost")
    assert lost(creates.answered) == []
    for _ in range(20):  # either replica may answer
        assert rejection(release.cluster, curious) == ""


def _settings(release: Release) -> set[float]:
    """The digests of the settings that the replicas have: one where all have the same."""
    return {one.metric("gpushare_webhook_digest", of="settings") for one in release.servers()}
