"""The checks, in the order of their codes."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from webhook.policy.checks.check import Check
from webhook.policy.context import PodContext
from webhook.policy.object_context import ObjectContext

_MODULES = (
    "gps001_container_limit",
    "gps002_pod_limit",
    "gps003_quantity",
    "gps004_pipe_directory",
    "gps005_shared_memory",
    "gps006_client_limits",
    "gps007_visible_devices",
    "gps008_users",
    "gps009_host_namespaces",
    "gps010_two_resources",
    "gps011_runtime_class",
    "gps012_host_path",
    "gps013_resource_name",
    "gps014_selectors",
    "gps015_grace_period",
    "gps016_init_container",
    "gps017_pipe_hidden",
    "gps018_annotations",
    "gps019_unmutated",
    "gps020_ranks",
    "gps021_launcher",
)

_MODULES_OF_OBJECTS = ("gps023_unchecked",)


def _checks(modules: tuple[str, ...]) -> tuple[Check[Any], ...]:
    return tuple(import_module(f"{__name__}.{module}").CHECK for module in modules)


POD_CHECKS: tuple[Check[PodContext], ...] = _checks(_MODULES)
"""The checks of each pod."""

OBJECT_CHECKS: tuple[Check[ObjectContext], ...] = _checks(_MODULES_OF_OBJECTS)
"""The checks of each object on the command line, after those of its pods."""

CHECKS: tuple[Check[Any], ...] = tuple(sorted((*POD_CHECKS, *OBJECT_CHECKS), key=lambda check: check.code))
"""All checks."""
