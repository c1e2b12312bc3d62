"""Programs built from Go modules.

Kubernetes, etcd, cert-manager, NVIDIA's device plugin over a mock driver, Prometheus, and kube-state-metrics.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from tests.cluster.harness.cache import Recipe, ToolsMissingError, key_of

GO_MODULES = Path(__file__).parent.parent / "go"
KUBERNETES = "k8s.io/kubernetes"
CERT_MANAGER = "github.com/cert-manager/cert-manager"
PROMETHEUS = "github.com/prometheus/prometheus/cmd/prometheus"
KUBE_STATE_METRICS = "k8s.io/kube-state-metrics/v2"
FLAGS = ("-trimpath", "-buildvcs=false")
COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl")


def kubernetes(version: str) -> Recipe:
    """One binary of all components of this version (`1.36.3`), with a link for each of `COMPONENTS`."""
    source = GO_MODULES / "kubernetes"
    return Recipe(
        f"kubernetes-{version}",
        key_of(version, source, *FLAGS),
        lambda folder: _build_kubernetes(version, source, folder),
    )


def _program(name: str, module: str, *flags: str, binary: str = "", package: str = ".", cgo: bool = False) -> Recipe:
    """One program, of the version in the go.mod of a module below `GO_MODULES`."""
    source = GO_MODULES / module
    return Recipe(
        name,
        key_of(source, *flags, *FLAGS),
        lambda folder: build(source, folder / (binary or name), *flags, cgo=cgo, package=package),
    )


def etcd() -> Recipe:
    """The store of the API server."""
    return _program("etcd", "etcd")


def device_plugin() -> Recipe:
    """NVIDIA's device plugin over a mock of the driver library (needs a C compiler)."""
    return _program("device-plugin", "deviceplugin", binary="nvidia-device-plugin", cgo=True)


def prometheus() -> Recipe:
    """Prometheus with the service discovery for Kubernetes and no other."""
    return _program("prometheus", "prometheus", "-tags=remove_all_sd,enable_kubernetes_sd", package=PROMETHEUS)


def kube_state_metrics() -> Recipe:
    """The states of objects as metrics."""
    return _program("kube-state-metrics", "kubestatemetrics", package=KUBE_STATE_METRICS)


def cert_manager() -> Recipe:
    """cert-manager of the version in its go.mod: `controller`, `cainjector`, and its resource definitions in `crds`."""
    source = GO_MODULES / "certmanager"
    return Recipe("cert-manager", key_of(source, *FLAGS), lambda folder: _build_cert_manager(source, folder))


def _build_cert_manager(source: Path, folder: Path) -> None:
    build(source, folder / "cert-manager")
    for program in ("controller", "cainjector"):
        (folder / program).symlink_to("cert-manager")
    # Published with the code, so that the definitions match the programs.
    module = _go("list", "-m", "-f", "{{.Dir}}", CERT_MANAGER, cwd=source).strip()
    crds = folder / "crds"
    crds.mkdir()
    for definition in Path(module, "deploy/crds").glob("cert-manager.io_*.yaml"):
        (crds / definition.name).write_bytes(definition.read_bytes())


def _build_kubernetes(version: str, source: Path, folder: Path) -> None:
    module = folder / "module"
    shutil.copytree(source, module)
    write_kubernetes_module(version, module)
    major, minor, _ = version.split(".", 2)
    stamp = "k8s.io/component-base/version"
    ldflags = f"-X {stamp}.gitVersion=v{version} -X {stamp}.gitMajor={major} -X {stamp}.gitMinor={minor}"
    # -mod=mod completes go.mod and go.sum; what it adds is verified against Go's checksum database.
    build(module, folder / "kubernetes", "-mod=mod", ldflags=ldflags)
    for component in COMPONENTS:
        (folder / component).symlink_to("kubernetes")
    shutil.rmtree(module)


def write_kubernetes_module(version: str, module: Path) -> None:
    """Write go.mod and go.sum for a build of Kubernetes as a dependency.

    Kubernetes' own go.mod replaces its staging modules by folders of its repository, and replacements do not reach
    dependents: each is replaced by its published twin (`k8s.io/api` of 1.36.3 is v0.36.3).
    """
    release = json.loads(_go("mod", "download", "-json", f"{KUBERNETES}@v{version}", cwd=module))
    upstream: dict[str, Any] = json.loads(_go("mod", "edit", "-json", release["GoMod"], cwd=module))
    staged = [item["Old"]["Path"] for item in upstream["Replace"] or () if item["New"]["Path"].startswith("./staging/")]
    twin = "v0." + version.split(".", 1)[1]
    lines = [
        "module clustertools/kubernetes",
        f"go {upstream['Go']}",
        *(f"godebug {item['Key']}={item['Value']}" for item in upstream.get("Godebug") or ()),
        f"require {KUBERNETES} v{version}",
        *(f"replace {path} => {path} {twin}" for path in staged),
    ]
    (module / "go.mod").write_text("\n".join(lines) + "\n")
    shutil.copyfile(Path(release["Dir"]) / "go.sum", module / "go.sum")
    (module / "go.sum").chmod(0o644)


def build(source: Path, binary: Path, *flags: str, cgo: bool = False, ldflags: str = "", package: str = ".") -> None:
    """Build a package, that of the module in `source` or one that it requires. Raises `ToolsMissingError`."""
    _go(
        *("build", *FLAGS, *flags, "-ldflags", f"-s -w {ldflags}", "-o", str(binary), package),
        cwd=source,
        cgo=cgo,
    )


def download(source: Path, module: str, cache: Path) -> Path:
    """Download one module that go.mod in `source` requires into an empty module cache, and return its folder.

    go.sum must have its digest. What the module requires is not downloaded. Raises `ToolsMissingError`.
    """
    requirements = json.loads(_go("mod", "edit", "-json", cwd=source))["Require"]
    version = next(requirement["Version"] for requirement in requirements if requirement["Path"] == module)
    found = _go("mod", "download", "-modcacherw", "-json", f"{module}@{version}", cwd=source, GOMODCACHE=str(cache))
    return Path(json.loads(found)["Dir"])


def _go(*arguments: str, cwd: Path, cgo: bool = False, **variables: str) -> str:
    if not shutil.which("go"):
        raise ToolsMissingError("Go is not on PATH: install Go 1.26 or newer (the go.mod files name what they need)")
    environment = os.environ | {"CGO_ENABLED": str(int(cgo)), "GOWORK": "off"} | variables
    command = ["nice", "-n", "10", "go", *arguments]
    # Progress on stderr goes to the terminal: a cold build takes minutes.
    done = subprocess.run(command, cwd=cwd, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise ToolsMissingError(f"`{' '.join(command)}` in {cwd} failed with status {done.returncode}: see above")
    return done.stdout
