"""The injections, in the order in which they add their edits."""

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

ALL: tuple[Injection, ...] = (
    STEERING,
    runtime_class.INJECTION,
    pipe_directory.INJECTION,
    limits.INJECTION,
    void_devices.INJECTION,
    pipe_mount.INJECTION,
    tolerations.INJECTION,
)
"""Every injection. Steering runs first because it decides where a pod lands."""

WITHOUT_GPU = (void_devices.INJECTION,)
"""The injections that can apply to a pod without GPU requests."""
