"""The resource definitions that the projects publish with their Go modules. Run as a module, it downloads them."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.harness import gobuild
from tests.cluster.harness.cache import Recipe, ToolsMissingError, key_of

_MODULES = Path(__file__).parent / "go"

DEFINITIONS: Mapping[str, tuple[str, ...]] = {
    "github.com/argoproj/argo-rollouts": ("manifests/crds/*-crd.yaml",),
    "github.com/argoproj/argo-workflows/v4": ("manifests/base/crds/full/argoproj.io_*.yaml",),
    "github.com/kserve/kserve": ("config/crd/full/serving.*.yaml", "config/crd/full/llmisvc/serving.*.yaml"),
    "github.com/kubeflow/kubeflow/components/notebook-controller": ("config/crd/bases/*.yaml",),
    "github.com/kubeflow/mpi-operator": ("manifests/base/kubeflow.org_mpijobs.yaml",),
    "github.com/kubeflow/spark-operator/v2": ("config/crd/bases/*.yaml",),
    "github.com/kubeflow/trainer/v2": ("manifests/base/crds/trainer.kubeflow.org_*.yaml",),
    "github.com/kubeflow/training-operator": ("manifests/base/crds/kubeflow.org_*.yaml",),
    "github.com/ray-project/kuberay/ray-operator": ("config/crd/bases/*.yaml",),
    "github.com/tektoncd/pipeline": ("config/300-crds/300-*.yaml",),
    "knative.dev/serving": ("config/core/300-resources/*.yaml",),
    "sigs.k8s.io/jobset": ("config/components/crd/bases/*.yaml",),
    "sigs.k8s.io/lws": ("config/crd/bases/*.yaml",),
    "volcano.sh/volcano": ("config/crd/volcano/bases/*.yaml",),
}
"""The files with definitions in each module of go.mod, which names the versions."""


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """A published CustomResourceDefinition, without its descriptions, and the module that it is from."""

    module: str
    manifest: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.manifest["metadata"]["name"])

    @property
    def group(self) -> str:
        return str(self.manifest["spec"]["group"])

    @property
    def kind(self) -> str:
        return str(self.manifest["spec"]["names"]["kind"])

    @property
    def plural(self) -> str:
        return str(self.manifest["spec"]["names"]["plural"])

    @property
    def namespaced(self) -> bool:
        return bool(self.manifest["spec"]["scope"] == "Namespaced")

    @property
    def schemas(self) -> dict[str, Any]:
        """The OpenAPI schema of each served version."""
        versions = self.manifest["spec"]["versions"]
        return {version["name"]: version["schema"]["openAPIV3Schema"] for version in versions if version["served"]}

    @property
    def installable(self) -> dict[str, Any]:
        """The manifest for an API server without the project's controller: nothing converts between versions."""
        spec = {key: value for key, value in self.manifest["spec"].items() if key != "conversion"}
        return {
            "apiVersion": self.manifest["apiVersion"],
            "kind": self.manifest["kind"],
            "metadata": {"name": self.name, "annotations": self.manifest["metadata"].get("annotations") or {}},
            "spec": spec,
        }


@cache
def definitions() -> tuple[Definition, ...]:
    """All published definitions. Raises `ToolsMissingError` where they cannot be downloaded."""
    files = sorted(recipe().make().glob("*.json"))
    return tuple(
        Definition(content["module"], manifest)
        for content in map(json.loads, map(Path.read_text, files))
        for manifest in content["definitions"]
    )


def published(group: str, kind: str) -> tuple[Definition, ...]:
    """The definitions of a kind: one by each project that publishes it (two publish MPIJob), none if unknown."""
    return tuple(found for found in definitions() if (found.group, found.kind) == (group, kind))


def recipe() -> Recipe:
    """One file for each module: `{"module": PATH, "definitions": [MANIFEST, …]}`."""
    return Recipe("crds", key_of(_MODULES, Path(__file__)), _fill)


def _fill(folder: Path) -> None:
    for number, (module, patterns) in enumerate(DEFINITIONS.items()):
        modules = folder / "modules"
        found = list(_manifests(gobuild.download(_MODULES, module, modules), patterns))
        if not found:
            raise ToolsMissingError(f"{module} has no CustomResourceDefinition in {', '.join(patterns)}")
        (folder / f"{number:02}.json").write_text(json.dumps({"module": module, "definitions": found}))
        shutil.rmtree(modules)


def _manifests(folder: Path, patterns: tuple[str, ...]) -> Iterator[Any]:
    for pattern in patterns:
        for file in sorted(folder.glob(pattern)):
            for document in yaml.load_all(file.read_bytes(), yaml.CSafeLoader):
                if document and document.get("kind") == "CustomResourceDefinition":
                    yield _without_descriptions(document)


def _without_descriptions(schema: Any) -> Any:
    """A manifest without the descriptions in its schemas: most of its text. A property may have that name."""
    if isinstance(schema, list):
        return [_without_descriptions(element) for element in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_descriptions(value)
        for key, value in schema.items()
        if key != "description" or not isinstance(value, str)
    }


def main() -> int:
    """Download what is missing, and print the folder."""
    try:
        print(recipe().make())
    except ToolsMissingError as problem:
        print(f"crd-definitions: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
