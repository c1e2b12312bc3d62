"""The injections, in the order in which their edits are made."""

from __future__ import annotations

from webhook.policy.injection import Injection
from webhook.policy.injections import (
    limits,
    pipe_directory,
    pipe_mount,
    runtime_class,
    tolerations,
    void_devices,
)

INJECTIONS: tuple[Injection, ...] = (
    runtime_class.INJECTION,
    pipe_directory.INJECTION,
    limits.INJECTION,
    void_devices.INJECTION,
    pipe_mount.INJECTION,
    tolerations.INJECTION,
)
