"""The injections, in the order in which their edits are made. Steering goes first: it decides where a pod lands."""

from __future__ import annotations

from webhook.policy.injections import (
    limits,
    pipe_directory,
    pipe_mount,
    runtime_class,
    steering,
    tolerations,
    void_devices,
)
from webhook.policy.injections.injection import Injection

STEERING = steering.INJECTION

INJECTIONS: tuple[Injection, ...] = (
    runtime_class.INJECTION,
    pipe_directory.INJECTION,
    limits.INJECTION,
    void_devices.INJECTION,
    pipe_mount.INJECTION,
    tolerations.INJECTION,
)

ALL: tuple[Injection, ...] = (STEERING, *INJECTIONS)
"""Every injection, steering too."""
