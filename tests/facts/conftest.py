"""The service account of a pod, for tests within this process, and live facts that run until their test ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kubernetes.aio.config import incluster_config

from tests.facts.live import Live


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of a service account, as the kubelet mounts them."""
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(tmp_path / "ca.crt"))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    (tmp_path / "token").write_text("first")
    return tmp_path


@pytest.fixture(autouse=True)
def _no_task_of_live_facts_ends() -> Iterator[None]:
    Live.started.clear()
    yield
    assert all(task.cancelled() for live in Live.started for task in live.tasks)
