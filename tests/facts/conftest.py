"""The service account of a pod, for tests within this process."""

from __future__ import annotations

from pathlib import Path

import pytest
from kubernetes.aio.config import incluster_config


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of a service account, as the kubelet mounts them."""
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(tmp_path / "ca.crt"))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    (tmp_path / "token").write_text("first")
    return tmp_path
