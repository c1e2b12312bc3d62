"""The Dockerfile matches the image that the cluster tests pack without a container engine."""

from __future__ import annotations

import json
import re

from tests.cluster.harness import debian, webhook_image
from tests.project.repository import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text()
FINAL = DOCKERFILE.rpartition("\nFROM ")[2]


def test_image_process_matches_packed_image() -> None:
    entrypoint = re.search(r"^ENTRYPOINT (.+)$", FINAL, re.MULTILINE)
    environment = re.search(r"^ENV (.+)$", FINAL, re.MULTILINE)
    user = re.search(r"^USER (.+)$", FINAL, re.MULTILINE)
    assert entrypoint is not None
    assert environment is not None
    assert user is not None
    assert tuple(json.loads(entrypoint[1])) == webhook_image.CONFIG.entrypoint
    assert dict(one.split("=", 1) for one in environment[1].split()) == webhook_image.CONFIG.environment
    assert user[1] == webhook_image.CONFIG.user


def test_image_folders_match_packed_image() -> None:
    home = f"/{webhook_image.HOME}"
    assert f"COPY webhook {home}/webhook" in DOCKERFILE
    assert f"COPY --from=build {home} {home}" in FINAL


def test_image_scripts_match_packed_image() -> None:
    home = f"/{webhook_image.HOME}"
    libraries, bytecode = (script.relative_to(ROOT) for script in (webhook_image.LIBRARIES, webhook_image.BYTECODE))
    assert f"RUN {libraries} python3 {home} && {bytecode} python3 {home} {home}\n" in DOCKERFILE
    assert f"RUN {bytecode} python3 {home}/webhook {home}/webhook\n" in DOCKERFILE


def test_image_contains_no_build_tools() -> None:
    assert "pip" not in FINAL
    assert "image/" not in FINAL


def test_image_system_packages_match_packed_image() -> None:
    installed = re.search(r"apt-get install --yes --no-install-recommends (.+?) \\", FINAL)
    assert installed is not None
    assert set(installed[1].split()) == set(debian.PYTHON_PACKAGES)
