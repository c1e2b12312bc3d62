"""The Dockerfile matches the image that the cluster tests pack without a container engine."""

from __future__ import annotations

import json
import re
import subprocess

from tests.cluster.harness import base, webhook_image
from tests.project.repository import ROOT, project

DOCKERFILE = (ROOT / "Dockerfile").read_text()
FINAL = DOCKERFILE.rpartition("\nFROM ")[2]
HOME = f"/{webhook_image.HOME}"


def labels() -> dict[str, str]:
    return dict(re.findall(r'org\.opencontainers\.image\.(\S+)="(.*?)"', FINAL))


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
    assert f"COPY webhook {HOME}/webhook" in DOCKERFILE
    assert f"COPY --from=build {HOME} {HOME}" in FINAL
    assert f"COPY {webhook_image.LICENCE.relative_to(ROOT)} {HOME}/LICENSE" in FINAL


def test_image_scripts_match_packed_image() -> None:
    libraries, bytecode = (script.relative_to(ROOT) for script in (webhook_image.LIBRARIES, webhook_image.BYTECODE))
    assert f"    {libraries} python3 {HOME} && {bytecode} python3 {HOME} {HOME}\n" in DOCKERFILE
    assert f"RUN {bytecode} python3 {HOME}/webhook {HOME}/webhook\n" in DOCKERFILE


def test_image_contains_no_build_tools() -> None:
    assert "pip" not in FINAL
    assert "image/" not in FINAL


def test_image_system_packages_match_packed_image() -> None:
    installed = re.search(r"apt-get install --yes --no-install-recommends (.+?) \\", FINAL)
    assert installed is not None
    assert set(installed[1].split()) == set(base.PACKAGES)


def test_image_base_matches_packed_image() -> None:
    assert re.findall(r"^ARG BASE=(.+)$", DOCKERFILE, re.MULTILINE) == [f"debian:{base.RELEASE}-slim"]


def test_release_needs_base_by_digest() -> None:
    """The script runs in the stage that the image copies from, so no release is built without it."""
    build = DOCKERFILE.partition("\nFROM ")[2].partition("\nFROM ")[0]
    assert build.rstrip().endswith('\nARG BASE\nARG VERSION=""\nRUN release/image/base.sh "${BASE}" "${VERSION}"')
    tag, digest = "debian:trixie-slim", f"debian@sha256:{'0' * 64}"
    refused = [base for base in (tag, digest[:-1], f"{digest}0", "", digest, f"mirror/{digest}") if based(base, "1.0")]
    assert refused == [tag, digest[:-1], f"{digest}0", ""]
    assert "name the base by its digest, --build-arg BASE=debian@sha256:…" in based(tag, "1.0")
    assert based(tag, "") == based(digest, "") == ""


def based(base: str, version: str) -> str:
    """What the script says about a base; nothing where it accepts it."""
    ended = subprocess.run([ROOT / "release/image/base.sh", base, version], capture_output=True, text=True, check=False)
    assert ended.returncode == bool(ended.stderr)
    return ended.stderr


def test_image_stages_share_base_argument() -> None:
    assert re.findall(r"^FROM (.+)$", DOCKERFILE, re.MULTILINE) == ["${BASE} AS build", "${BASE}"]


def test_image_labels_name_project_and_licence() -> None:
    declared = project()["project"]
    assert {key: labels()[key] for key in ("title", "description", "licenses")} == {
        "title": declared["name"],
        "description": declared["description"],
        "licenses": declared["license"],
    }


def test_plain_build_leaves_no_empty_label() -> None:
    """A release adds its own labels, which an argument without a value would leave empty."""
    assert labels().keys() == {"title", "description", "licenses", "base.name"}
    assert labels()["base.name"] == "${BASE}"
    assert re.findall(r"^ARG (.+)$", FINAL, re.MULTILINE) == ["BASE"]


def test_secrets_of_a_build_are_mounted() -> None:
    """pip reads its configuration from this place, and a mounted file stays out of the layers."""
    mounted = re.findall(r"--mount=type=secret,id=(\S+),target=(\S+)", DOCKERFILE)
    assert mounted == [("pip.conf", "/etc/pip.conf"), ("ca.pem", "/run/secrets/ca.pem")]
    assert "secret" not in FINAL


def test_build_context_contains_what_dockerfile_copies() -> None:
    copied = set(re.findall(r"^COPY (?!--from)(\S+) ", DOCKERFILE, re.MULTILINE))
    included = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    assert copied == set(included)
