"""A kubeconfig of a cluster that cannot be reached: nothing listens on its port."""

from __future__ import annotations

UNREACHABLE = (
    "{apiVersion: v1, kind: Config, current-context: away,"
    " contexts: [{name: away, context: {cluster: away, user: away}}],"
    " clusters: [{name: away, cluster: {server: 'http://127.0.0.1:9'}}], users: [{name: away, user: {}}]}\n"
)
"""Its context is `away`."""
