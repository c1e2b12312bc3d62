"""NetworkPolicies, enforced by packet filters of the node: this stands for a network plugin that supports them.

The cluster's own network plugin ignores NetworkPolicies. Of a policy's fields, this reads those that the chart sets:
the pods by labels, and for ingress the ports and the networks. One thing differs from a plugin. A plugin admits
everything from a pod's own node, and here the API server runs on that node; so these filters apply to what the node
sends, and spare only the port that the kubelet probes.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from ipaddress import ip_address, ip_network
from threading import Event
from typing import TYPE_CHECKING

from tests.cluster.harness import cluster as clusters
from tests.cluster.harness import debian
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster

PROBED = "health"
_TABLE = "inet network-policies"
_LONGEST = 3600  # seconds without a change, after which something is wrong


@contextmanager
def network_policies(cluster: Cluster, namespace: str) -> Iterator[None]:
    """Enforce the NetworkPolicies of a namespace for the time of the context."""
    ended = Event()
    with ThreadPoolExecutor(1) as enforcer:
        enforcing = enforcer.submit(_enforce, cluster, namespace, ended)
        try:
            yield
        finally:
            ended.set()
            enforcing.result()


def _enforce(cluster: Cluster, namespace: str, ended: Event) -> None:
    """Replace the filters whenever the policies or the pods change, and remove them at the end."""
    policies = f"/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies"
    pods = f"/api/v1/namespaces/{namespace}/pods"
    filters = Filters(cluster)

    def wanted() -> set[tuple[str, int]]:
        items = cluster.api.items(policies)
        return {port for pod in cluster.api.items(pods) for port in blocked(items, pod, cluster.place.address)}

    def changed() -> bool:
        return ended.is_set() or wanted() != filters.dropped

    try:
        while not ended.is_set():
            wait_for("a change or the end", changed, seconds=_LONGEST, every=0.2)
            filters.replace(wanted())
    finally:
        filters.replace(set())


def blocked(policies: list[Object], pod: Object, source: str) -> set[tuple[str, int]]:
    """The ports of a pod, with its address, at which policies reject connections from an address."""
    address, labels = pod["status"].get("podIP"), pod["metadata"].get("labels", {})
    selecting = [one["spec"] for one in policies if _isolates(one["spec"], labels)]
    if not address or not selecting:
        return set()
    rules = [rule for spec in selecting for rule in spec.get("ingress") or ()]
    ports = [port for each in pod["spec"]["containers"] for port in each.get("ports", ()) if port["name"] != PROBED]
    return {
        (address, port["containerPort"]) for port in ports if not any(_admits(rule, port, source) for rule in rules)
    }


def _isolates(spec: Object, labels: dict[str, str]) -> bool:
    selector = spec["podSelector"]
    assert not selector.get("matchExpressions"), "only matchLabels are read here"
    return "Ingress" in spec["policyTypes"] and selector.get("matchLabels", {}).items() <= labels.items()


def _admits(rule: Object, port: Object, source: str) -> bool:
    """Whether a rule admits a source to a port of a container. A list that is missing or empty admits everything."""
    ports, peers = rule.get("ports"), rule.get("from")
    at_port = not ports or any(one.get("port") in (None, port["name"], port["containerPort"]) for one in ports)
    return at_port and (not peers or any(_contains(peer, source) for peer in peers))


def _contains(peer: Object, source: str) -> bool:
    """Whether a peer is a network with this address; selectors of pods never match an address of the node."""
    return "ipBlock" in peer and ip_address(source) in ip_network(peer["ipBlock"]["cidr"])


class Filters:
    """The packet filters of the node: they drop what it sends to ports of pods, on open connections too."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.dropped: set[tuple[str, int]] = set()

    def replace(self, dropped: set[tuple[str, int]]) -> None:
        """Drop what goes to these addresses and ports, and nothing else. Raises `RuntimeError` when nft fails."""
        rules = [f"ip daddr {address} tcp dport {port} drop" for address, port in sorted(dropped)]
        chain = ["type filter hook output priority filter", *rules]
        file = self._cluster.place.folder / "network-policies.nft"
        lines = [f"table {_TABLE}", f"delete table {_TABLE}"]
        if rules:
            lines.append(f"table {_TABLE} {{ chain output {{ {'; '.join(chain)}; }}; }}")
        file.write_text("\n".join(lines) + "\n")
        packages = clusters.node_tools().packages
        command = [str(packages / "usr/sbin/nft"), f"--file={file}"]
        done = self._cluster.inside.run(command, environment=debian.environment(packages))
        if done.returncode:
            raise RuntimeError(f"nft rejected {file.read_text()}: {done.stderr}")
        self.dropped = dropped
