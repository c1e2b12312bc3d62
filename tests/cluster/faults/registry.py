"""All faults by the command that must name them."""

from __future__ import annotations

from tests.cluster.faults import (
    admission,
    cluster_side,
    crashing,
    creation,
    pending,
    plugin,
    running,
    starting,
    webhook_side,
)

WHY = (
    *pending.FAULTS,
    *creation.FAULTS,
    *admission.FAULTS,
    *starting.FAULTS,
    *running.FAULTS,
    *crashing.FAULTS,
)
"""The faults of `why`, which are produced in the order of `states.STATES`."""

EXHAUSTIVE = frozenset(
    """
    claim-without-device completed-job config-map-missing deadline-of-job denied-by-policy exit-code-of-init
    exit-code-of-job healthy-deployment healthy-injected image-name log-busy-of-runtime log-connections
    log-driver-version log-remote-call memory node-affinity not-ready priority-class-missing resource-renamed
    root-forbidden spread too-many-pods two-replicas-job volume-missing
    """.split()
)
"""Faults of `why` that are another way to a cause, or an easy one; every run has the others."""

DOCTOR = (*plugin.TROUBLES, *cluster_side.TROUBLES, *webhook_side.TROUBLES)
"""The faults of `doctor`, beside `webhook-not-installed`, which precedes the installation."""
