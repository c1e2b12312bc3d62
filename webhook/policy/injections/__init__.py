"""The injections, in the order in which they add their edits."""

from __future__ import annotations

from importlib import import_module

from webhook.policy.injections import steering
from webhook.policy.injections.injection import Injection

_MODULES = (
    "memory",
    "runtime_class",
    "pipe_directory",
    "limits",
    "void_devices",
    "pipe_mount",
    "tolerations",
)

STEERING = steering.INJECTION

INJECTIONS: tuple[Injection, ...] = tuple(import_module(f"{__name__}.{module}").INJECTION for module in _MODULES)
"""The injections that follow steering. Steering runs first because it decides where a pod lands."""

ALL: tuple[Injection, ...] = (STEERING, *INJECTIONS)
"""Every injection, steering included."""
