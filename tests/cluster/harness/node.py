"""kubelet, kube-proxy and the device plugin, on top of the container runtime."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.cluster.harness import debian
from tests.cluster.harness.containers import PODS, SOCKET, Containers
from tests.cluster.harness.controlplane import QUICK_CLIENT
from tests.cluster.harness.credentials import NODE
from tests.cluster.harness.options import offers
from tests.cluster.harness.waiting import met

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.controlplane import ControlPlane
    from tests.cluster.harness.options import NodeOptions
    from tests.cluster.harness.place import Namespaces
    from tests.cluster.harness.process import Process
    from tests.cluster.harness.tools import NodeTools

MPS_ROOT = "/run/nvidia/mps"
_KUBELET_SOCKET = "/var/lib/kubelet/device-plugins/kubelet.sock"

_EVICTION_SIGNALS = (
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
)

# The plugin asks this program whether the MPS daemon is healthy: it drains the question and answers with a share.
_MPS_CONTROL = "#!/bin/sh\ncat > /dev/null\necho 10.0\n"


class Node:
    """The one node of a cluster."""

    def __init__(self, place: Namespaces, tools: NodeTools, options: NodeOptions, control: ControlPlane) -> None:
        self._place, self._tools, self._options, self._control = place, tools, options, control
        self._folder = place.folder / "node"
        self._folder.mkdir()
        self.containers = Containers(place, tools.packages, options.handlers)
        self.processes: dict[str, Process] = {}

    def launch(self) -> None:
        """Start what needs no API server."""
        self.containers.launch()

    def wait_ready(self) -> None:
        """Start the rest and wait until the node is ready and offers its GPUs."""
        self.containers.wait_ready()
        self._let_kubelet_read_pods()
        self._start_kubelet()
        self._start_proxy()
        self._wait_registered()
        if self._options.plugin is not None:
            self._start_plugin(self._options.plugin)
        self.processes["kubelet"].wait_until("the node is ready", self._ready)

    def _let_kubelet_read_pods(self) -> None:
        """Let nodes read all pods.

        The node authorizer learns of a binding from its own watch. On a busy machine the kubelet refuses a pod and
        reads it back before that: it is denied and tells the refusal ten seconds later, which would hide a pod storm.
        """
        api = "/apis/rbac.authorization.k8s.io/v1"
        role = {"name": "nodes-read-pods"}
        rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
        nodes = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:nodes"}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole"} | role
        self._control.api.create(f"{api}/clusterroles", {"metadata": role, "rules": rules})
        binding = {"metadata": role, "roleRef": reference, "subjects": [nodes]}
        self._control.api.create(f"{api}/clusterrolebindings", binding)

    def _start_kubelet(self) -> None:
        empty = self._folder / "kubelet"  # a kubelet may delete what it finds in its working directory
        empty.mkdir(exist_ok=True)
        config = self._folder / "kubelet.json"
        config.write_text(json.dumps(self._kubelet_config()))
        labels = ",".join(f"{key}={value}" for key, value in self._options.labels.items())
        command = [
            str(self._tools.kubelet),
            f"--config={config}",
            f"--kubeconfig={self._control.kubeconfigs['kubelet']}",
            f"--hostname-override={NODE}",
            f"--node-ip={self._place.address}",
            *([f"--node-labels={labels}"] if labels else []),
            *self._control.gates(),
        ]
        self.processes["kubelet"] = self._place.start("kubelet", command, folder=empty)

    def _kubelet_config(self) -> dict[str, Any]:
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": self._place.address,
            "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"},  # only the API server is there to ask
            "healthzPort": 0,
            "containerRuntimeEndpoint": f"unix://{SOCKET}",
            "podLogsDir": "/var/log/pods",
            "volumePluginDir": str(self._folder / "volume-plugins"),
            "resolvConf": "",
            "registerNode": True,
            "nodeStatusUpdateFrequency": "1s",
            "kubeAPIQPS": 500,
            "kubeAPIBurst": 1000,
            # Its pods below the cluster's own group, whatever version the machine has.
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{self._place.folder.name}",
            "failCgroupV1": False,
            # Settings of the machine itself are left as they are.
            "failSwapOn": False,
            "makeIPTablesUtilChains": False,
            "oomScoreAdj": 0,
            "maxOpenFiles": 4096,
            "localStorageCapacityIsolation": False,
            "evictionHard": dict.fromkeys(_EVICTION_SIGNALS, "0%"),
            "imageGCHighThresholdPercent": 100,
        }

    def _start_proxy(self) -> None:
        command = [
            str(self._tools.proxy),
            f"--kubeconfig={self._control.kubeconfigs['proxy']}",
            f"--hostname-override={NODE}",
            "--proxy-mode=nftables",
            f"--cluster-cidr={PODS}",
            "--conntrack-max-per-core=0",  # 0, here and below: the kernel's setting is left as it is
            "--conntrack-tcp-timeout-established=0",
            "--conntrack-tcp-timeout-close-wait=0",
            *QUICK_CLIENT,
            *self._control.gates(),
        ]
        environment = debian.environment(self._tools.packages)
        self.processes["proxy"] = self._place.start("proxy", command, environment=environment)

    @contextmanager
    def sharing(self, config: dict[str, Any]) -> Iterator[None]:
        """Run the device plugin with another configuration for a while; no GPU pod may be left at the end."""
        assert self._options.plugin, "a node without a plugin has nothing to exchange"
        self._exchange_plugin(config)
        try:
            yield
        finally:
            self._exchange_plugin(self._options.plugin)

    @contextmanager
    def without_kubelet(self) -> Iterator[None]:
        """Stop the kubelet for a while; containers keep running. The device plugin is started again after it.

        The plugin's own program does so when the kubelet's socket is new (cmd/nvidia-device-plugin/main.go).
        """
        assert self._options.plugin, "a node without a plugin has nothing to start again"
        self.processes["kubelet"].stop()
        try:
            yield
        finally:
            self.processes["device-plugin"].stop()
            self._place.path(_KUBELET_SOCKET).unlink(missing_ok=True)
            self._start_kubelet()
            self._wait_registered()
            self._start_plugin(self._options.plugin)
            self.processes["kubelet"].wait_until("the node is ready", self._ready)

    @contextmanager
    def without_plugin(self) -> Iterator[None]:
        """Stop the device plugin for a while: the node names its resources, and offers none."""
        assert self._options.plugin, "a node without a plugin has nothing to stop"
        self.processes["device-plugin"].stop()
        try:
            self.processes["kubelet"].wait_until("the node offers no GPU", lambda: not self._offered())
            yield
        finally:
            self._start_plugin(self._options.plugin)
            self.processes["kubelet"].wait_until("the node is ready", self._ready)

    @contextmanager
    def marked(self, labels: dict[str, str], *taints: Object) -> Iterator[None]:
        """Put labels and taints on the node for a while."""
        path = f"/api/v1/nodes/{NODE}"
        self._control.api.patch(path, {"metadata": {"labels": labels}, "spec": {"taints": list(taints)}})
        try:
            yield
        finally:
            self._control.api.patch(path, {"metadata": {"labels": dict.fromkeys(labels)}, "spec": {"taints": []}})

    def _exchange_plugin(self, config: dict[str, Any]) -> None:
        self.processes["device-plugin"].stop()
        # The kubelet still offers the old devices for a moment, and the next plugin may offer the same number.
        self.processes["kubelet"].wait_until("the node offers no GPU", lambda: not self._offered())
        plugin = self._start_plugin(config)
        expected = offers(config, self._options.gpus)
        plugin.wait_until(f"the node offers {expected}", lambda: self._offered() == expected)

    def _start_plugin(self, config: dict[str, Any]) -> Process:
        programs = self._folder / "programs"
        programs.mkdir(exist_ok=True)
        mps_control = programs / "nvidia-cuda-mps-control"
        mps_control.write_text(_MPS_CONTROL)
        mps_control.chmod(0o755)
        file = self._folder / "device-plugin.json"
        file.write_text(json.dumps(config))
        command = [
            str(self._tools.device_plugin),
            f"--config-file={file}",
            f"--mps-root={MPS_ROOT}",
            f"--gpus={self._options.gpus}",
        ]
        path = f"{programs}:{debian.environment(self._tools.packages)['PATH']}"
        self.processes["device-plugin"] = self._place.start("device-plugin", command, environment={"PATH": path})
        return self.processes["device-plugin"]

    def _wait_registered(self) -> None:
        socket = self._place.path(_KUBELET_SOCKET)
        self.processes["kubelet"].wait_until("the kubelet takes device plugins", socket.is_socket)

    def _ready(self) -> bool:
        found = self._control.api.find(f"/api/v1/nodes/{NODE}")
        expected = offers(self._options.plugin, self._options.gpus) if self._options.plugin else {}
        return found is not None and met(found, "Ready") and self._offered() == expected

    def _offered(self) -> dict[str, str]:
        """The node's NVIDIA resources. A kubelet keeps former ones with a count of 0."""
        amounts = self._control.api.get(f"/api/v1/nodes/{NODE}")["status"].get("allocatable", {})
        return {name: amount for name, amount in amounts.items() if name.startswith("nvidia.com/") and amount != "0"}
