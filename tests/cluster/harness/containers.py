"""containerd with runc and the CNI plugins."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

from tests.cluster.harness import busybox, debian

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterable
    from pathlib import Path

    from tests.cluster.harness.place import Namespaces
    from tests.cluster.harness.process import Process

SOCKET = "/run/containerd/containerd.sock"
PODS = "10.88.0.0/24"

# Version 2 of the format is read by containerd 1.x and 2.x alike.
_CONFIG = """\
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
# opt makes a folder outside; cri's apparmor profile would be loaded into the machine's kernel.
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
  address = "{socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{sandbox}"
  disable_apparmor = true
  restrict_oom_score_adj = true # lowering it may not be allowed here
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{plugins}"
    conf_dir = "{networks}"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "{registries}"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    default_runtime_name = "runc"
{handlers}"""

_HANDLER = """\
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.{name}]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.{name}.options]
        BinaryName = "{binary}"
        SystemdCgroup = false
"""


class Containers:
    """The container runtime of a node."""

    def __init__(self, place: Namespaces, packages: Path, handlers: Iterable[str]) -> None:
        self._place, self._packages = place, packages
        self._folder = place.folder / "containers"
        self._folder.mkdir()
        self._environment = debian.environment(packages)
        self._write_network()
        runtimes = [_HANDLER.format(name="runc", binary=packages / "usr/sbin/runc")]
        runtimes += [_HANDLER.format(name=name, binary=self._write_handler(name)) for name in handlers]
        self._config = self._folder / "containerd.toml"
        self._config.write_text(
            _CONFIG.format(
                socket=SOCKET,
                sandbox=busybox.IMAGE,
                plugins=packages / "usr/lib/cni",
                networks=self._folder / "networks",
                registries=self._folder / "registries",
                handlers="".join(runtimes),
            )
        )
        self.process: Process

    def _write_network(self) -> None:
        folder = self._folder / "networks"
        folder.mkdir()
        addresses = {"type": "host-local", "dataDir": str(self._folder / "addresses"), "ranges": [[{"subnet": PODS}]]}
        # A cable of its own for each pod, not a bridge between them: there an answer could go straight back to the
        # caller, past the node, which has to turn the pod's address into the Service's again.
        cable = {
            "type": "ptp",
            "ipMasq": False,  # it would take iptables
            "ipam": addresses | {"routes": [{"dst": "0.0.0.0/0"}]},
        }
        (folder / "pods.conflist").write_text(json.dumps({"cniVersion": "1.0.0", "name": "pods", "plugins": [cable]}))

    def _write_handler(self, name: str) -> Path:
        """A runtime with its own name: runc behind a script that records the call, for tests of runtime handlers."""
        script = self._folder / f"runtime-{name}"
        script.write_text(f'#!/bin/sh\necho "$@" >> {self.calls(name)}\nexec {self._packages}/usr/sbin/runc "$@"\n')
        script.chmod(0o755)
        return script

    def calls(self, handler: str) -> Path:
        """The file that lists the calls of a handler's runtime, one line each."""
        return self._place.folder / "logs" / f"runtime-{handler}.calls"

    def launch(self) -> None:
        """Start containerd."""
        command = [str(self._packages / "usr/bin/containerd"), "--config", str(self._config)]
        self.process = self._place.start("containerd", command, environment=self._environment | {"TMPDIR": "/run"})

    def wait_ready(self) -> None:
        """Wait for containerd, and load the image of sandboxes and tests."""
        self.process.wait_until("containerd answers", lambda: self._ctr("version").returncode == 0)
        archive = self._folder / "busybox.tar"
        busybox.write_archive(self._packages, archive)
        self.load(archive)

    def load(self, archive: Path) -> None:
        """Import an image's archive; it has to lie in the cluster's or the cache folder."""
        done = self._ctr("images", "import", str(archive))
        if done.returncode:
            raise RuntimeError(f"importing {archive} failed: {done.stderr}")

    def tag(self, image: str, name: str) -> None:
        """Give a loaded image another name; both are complete, with their registry."""
        done = self._ctr("images", "tag", "--force", image, name)
        if done.returncode:
            raise RuntimeError(f"naming {image} {name} failed: {done.stderr}")

    def trust(self, registry: str, authority: Path) -> None:
        """Pull from a registry over TLS, with a certificate that this authority signed.

        The runtime reads the file for each pull (containerd docs/hosts.md).
        """
        folder = self._folder / "registries" / registry
        folder.mkdir(parents=True)
        shutil.copy(authority, folder / "ca.pem")
        host = f'[host."https://{registry}"]\n  capabilities = ["pull", "resolve"]\n  ca = "{folder / "ca.pem"}"\n'
        (folder / "hosts.toml").write_text(f'server = "https://{registry}"\n{host}')

    def _ctr(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(self._packages / "usr/bin/ctr"), "--address", SOCKET, "--namespace", "k8s.io", *arguments]
        return self._place.run(command, environment=self._environment)
