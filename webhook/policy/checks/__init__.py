"""The checks, in the order of their codes."""

from __future__ import annotations

from importlib import import_module

from webhook.policy.checks.check import Check

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

CHECKS: tuple[Check, ...] = tuple(import_module(f"{__name__}.{module}").CHECK for module in _MODULES)
