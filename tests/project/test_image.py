"""The Dockerfile stays like what the cluster tests pack without an engine. No engine is here to build it."""

from __future__ import annotations

import json
import re

from tests.cluster.harness import debian, webhook_image
from tests.project.repository import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text()
FINAL = DOCKERFILE.rpartition("\nFROM ")[2]


def test_the_process_is_the_same() -> None:
    entrypoint = re.search(r"^ENTRYPOINT (.+)$", FINAL, re.MULTILINE)
    environment = re.search(r"^ENV (.+)$", FINAL, re.MULTILINE)
    user = re.search(r"^USER (.+)$", FINAL, re.MULTILINE)
    assert entrypoint is not None
    assert environment is not None
    assert user is not None
    assert tuple(json.loads(entrypoint[1])) == webhook_image.CONFIG.entrypoint
    assert dict(one.split("=", 1) for one in environment[1].split()) == webhook_image.CONFIG.environment
    assert user[1] == webhook_image.CONFIG.user


def test_the_folders_are_the_same() -> None:
    assert f"--target=/{webhook_image.HOME} " in DOCKERFILE
    assert f"COPY webhook /{webhook_image.HOME}/webhook" in FINAL


def test_the_libraries_are_installed_the_same_way() -> None:
    for option in webhook_image.PIP_OPTIONS:
        assert option in DOCKERFILE
    assert "--constraint=constraints.txt" in DOCKERFILE


def test_the_packages_of_the_system_are_the_same() -> None:
    installed = re.search(r"apt-get install --yes --no-install-recommends (.+?) \\", FINAL)
    assert installed is not None
    assert set(installed[1].split()) == set(debian.PYTHON_PACKAGES)
