"""etcd, API server, controller manager and scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cluster.harness import credentials
from tests.cluster.harness.api import Api, Kubectl

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.harness.options import ControlPlaneOptions
    from tests.cluster.harness.place import Place
    from tests.cluster.harness.process import Process
    from tests.cluster.harness.tools import ControlPlaneTools

SERVICES = "10.96.0.0/24"

# The components hold back their own requests by default, which costs seconds in an empty cluster.
QUICK_CLIENT = ("--kube-api-qps=500", "--kube-api-burst=1000")


class ControlPlane:
    """The control plane of one cluster. `launch` returns immediately, `wait_ready` when the control plane is usable."""

    def __init__(self, place: Place, tools: ControlPlaneTools, options: ControlPlaneOptions) -> None:
        self._place, self.tools, self._options = place, tools, options
        self._folder = place.folder / "control-plane"
        self._folder.mkdir()
        self.port = place.port(6443)
        self.server = f"https://{place.address}:{self.port}"
        # The API server makes its own authority and certificate here; the file holds both.
        self.authority = self._folder / "certificates" / "apiserver.crt"
        self._tokens = credentials.write_tokens(self._folder / "tokens.csv")
        self._signing_key = credentials.write_signing_key(self._folder / "service-accounts.key")
        self.kubeconfigs = {role: self.write_kubeconfig(role, token) for role, token in self._tokens.items()}
        self.api = self.api_as(self._tokens["admin"])
        self.kubectl = Kubectl(place, tools.kubectl, self.kubeconfigs["admin"])
        self.processes: dict[str, Process] = {}
        self._store = ""

    def api_as(self, token: str) -> Api:
        """The API server as the holder of a token."""
        return Api(self._place, self.port, token, self.authority)

    def write_kubeconfig(self, name: str, token: str) -> Path:
        """A kubeconfig with a token, in a file of this name."""
        return credentials.write_kubeconfig(self._folder / f"{name}.kubeconfig", self.server, self.authority, token)

    def launch(self) -> None:
        """Start all four components; each waits for what it needs."""
        self._store = self._start_etcd()
        self._start_api_server(self._store)

    def restart_api_server(self) -> None:
        """End the API server, start it again over the same store, and wait until it is ready."""
        self.processes["api-server"].stop()
        self._start_api_server(self._store)
        self.processes["api-server"].wait_until("the API server is ready", self.api.ready)

    def wait_ready(self) -> None:
        """Wait for the API server, then start and await those that need its certificate."""
        self.processes["api-server"].wait_until("the API server is ready", self.api.ready)
        self._start("controller-manager", *self._controller_manager())
        self._start("scheduler", *self._scheduler())
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        controllers = self.processes["controller-manager"]
        controllers.wait_until("controllers work", lambda: self.api.find(account) is not None)

    def _start(self, name: str, *command: str) -> None:
        self.processes[name] = self._place.start(name, command)

    def _start_etcd(self) -> str:
        client, peer = (f"http://127.0.0.1:{self._place.port(usual)}" for usual in (2379, 2380))
        self._start(
            "etcd",
            str(self.tools.etcd),
            f"--data-dir={self._place.folder / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",  # nothing here outlives the test
        )
        return client

    def _start_api_server(self, store: str) -> None:
        options, place = self._options, self._place
        alone = place.address == "127.0.0.1"  # the Service `kubernetes` may not point to a loopback address
        self._start(
            "api-server",
            str(self.tools.api_server),
            f"--etcd-servers={store}",
            f"--secure-port={self.port}",
            f"--bind-address={place.address if alone else '0.0.0.0'}",  # noqa: S104
            f"--advertise-address={place.address}",
            *(["--endpoint-reconciler-type=none"] if alone else []),
            f"--service-cluster-ip-range={SERVICES}",
            "--enable-aggregator-routing=true",  # webhooks behind Services are called at their pods
            f"--cert-dir={self.authority.parent}",
            f"--token-auth-file={self._folder / 'tokens.csv'}",
            "--authorization-mode=Node,RBAC",
            f"--enable-admission-plugins={','.join(('NodeRestriction', *options.admission_plugins))}",
            *self._caller(),
            "--allow-privileged=true",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self._signing_key}",
            f"--service-account-signing-key-file={self._signing_key}",
            "--kubelet-preferred-address-types=InternalIP",
            *(f"--runtime-config={entry}" for entry in options.runtime_config),
            *self.gates(),
            *options.api_server_flags,
        )

    def _controller_manager(self) -> list[str]:
        return [
            str(self.tools.controller_manager),
            self._kubeconfig("controller-manager"),
            f"--service-account-private-key-file={self._signing_key}",
            f"--root-ca-file={self.authority}",
            f"--flex-volume-plugin-dir={self._folder / 'volume-plugins'}",  # it makes the folder
            "--use-service-account-credentials=true",
            *QUICK_CLIENT,  # it makes some forty service accounts before it works
            "--leader-elect=false",
            "--secure-port=0",
            *self.gates(),
            *self._options.controller_manager_flags,
        ]

    def _scheduler(self) -> list[str]:
        return [
            str(self.tools.scheduler),
            self._kubeconfig("scheduler"),
            "--leader-elect=false",
            "--secure-port=0",
            *QUICK_CLIENT,
            *self.gates(),
        ]

    def _caller(self) -> list[str]:
        """The flag that makes the API server present a client certificate to webhooks."""
        if self._options.caller is None:
            return []
        file = credentials.write_admission_control(self._folder, self._options.caller)
        return [f"--admission-control-config-file={file}"]

    def gates(self) -> list[str]:
        """The flag with the feature gates; empty when none is set."""
        gates = [f"{gate}={str(on).lower()}" for gate, on in self._options.feature_gates.items()]
        return [f"--feature-gates={','.join(gates)}"] if gates else []

    def _kubeconfig(self, role: str) -> str:
        return f"--kubeconfig={self.kubeconfigs[role]}"

    @property
    def folder(self) -> Path:
        """Where keys and tokens are."""
        return self._folder
