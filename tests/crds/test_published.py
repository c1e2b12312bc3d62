"""The published definitions are there, each from the version in go.mod."""

from __future__ import annotations

import json
import re
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.cluster.harness import gobuild
from tests.cluster.harness.cache import ToolsMissingError
from tests.crds.published import DEFINITIONS, definitions, published

pytestmark = pytest.mark.slow  # downloads what is missing

MODULES = Path(__file__).parent / "go"
MOST_BYTES = 1024 * 1024  # an API server cannot store more than about 1.5 MiB


def test_every_required_module_has_definitions_and_a_digest() -> None:
    required = re.findall(r"^\t(\S+) (v\S+)$", (MODULES / "go.mod").read_text(), re.MULTILINE)
    digests = {tuple(line.split()[:2]) for line in (MODULES / "go.sum").read_text().splitlines()}
    assert sorted(path for path, _ in required) == sorted(DEFINITIONS)
    assert set(required) <= digests
    assert {definition.module for definition in definitions()} == set(DEFINITIONS)


def test_definitions_are_structural_and_fit_an_api_server() -> None:
    for definition in definitions():
        assert definition.name == f"{definition.plural}.{definition.group}"
        assert definition.schemas, definition.name
        assert all(schema["type"] == "object" for schema in definition.schemas.values()), definition.name
        assert len(json.dumps(definition.installable)) < MOST_BYTES, definition.name


def test_kinds_are_found_by_group_and_kind() -> None:
    assert [found.name for found in published("jobset.x-k8s.io", "JobSet")] == ["jobsets.jobset.x-k8s.io"]
    assert sorted(version for found in published("kubeflow.org", "MPIJob") for version in found.schemas) == [
        "v1",
        "v2beta1",
    ]
    assert published("jobset.x-k8s.io", "Nothing") == ()


def test_module_with_another_digest_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    files = tmp_path / "proxy/tests.invalid/project/@v"
    files.mkdir(parents=True)
    (files / "v1.0.0.info").write_text('{"Version": "v1.0.0"}')
    (files / "v1.0.0.mod").write_text("module tests.invalid/project\n")
    with ZipFile(files / "v1.0.0.zip", "w") as archive:
        archive.writestr("tests.invalid/project@v1.0.0/go.mod", "module tests.invalid/project\n")
    source = tmp_path / "go"
    source.mkdir()
    (source / "go.mod").write_text("module tests\n\nrequire tests.invalid/project v1.0.0\n")
    (source / "go.sum").write_text(f"tests.invalid/project v1.0.0 h1:{'A' * 43}=\n")
    monkeypatch.setenv("GOPROXY", (tmp_path / "proxy").as_uri())
    monkeypatch.setenv("GONOSUMDB", "tests.invalid")
    with pytest.raises(ToolsMissingError):
        gobuild.download(source, "tests.invalid/project", tmp_path / "modules")
    assert "checksum mismatch" in capfd.readouterr().err
    (source / "go.sum").unlink()
    assert gobuild.download(source, "tests.invalid/project", tmp_path / "modules").name == "project@v1.0.0"
