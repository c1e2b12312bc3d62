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

DOCTOR = (*plugin.TROUBLES, *cluster_side.TROUBLES, *webhook_side.TROUBLES)
"""The faults of `doctor`, beside `webhook-not-installed`, which precedes the installation."""
