"""The checks, in the order of their codes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from webhook.policy.checks import (
    gps001_container_limit,
    gps002_pod_limit,
    gps003_quantity,
    gps004_pipe_directory,
    gps005_shared_memory,
    gps006_client_limits,
    gps007_visible_devices,
    gps008_users,
    gps009_host_namespaces,
    gps010_two_resources,
    gps011_runtime_class,
    gps012_host_path,
    gps013_resource_name,
    gps014_selectors,
    gps017_pipe_hidden,
    gps018_annotations,
    gps019_unmutated,
    gps020_ranks,
    gps021_launcher,
    gps023_unchecked,
    gps024_memory,
    gps025_namespace,
    gps030_refused,
    gps031_without_effect,
    gps032_quota,
    gps033_config_names,
    gps034_namespace_limits,
)
from webhook.policy.checks.check import Check
from webhook.policy.context import PodContext
from webhook.policy.sharing.objects import ConfigNames, SharingConfig
from webhook.policy.verdict import Violation

POD_CHECKS: tuple[Check[PodContext], ...] = (
    gps001_container_limit.CHECK,
    gps002_pod_limit.CHECK,
    gps003_quantity.CHECK,
    gps004_pipe_directory.CHECK,
    gps005_shared_memory.CHECK,
    gps006_client_limits.CHECK,
    gps007_visible_devices.CHECK,
    gps008_users.CHECK,
    gps009_host_namespaces.CHECK,
    gps010_two_resources.CHECK,
    gps011_runtime_class.CHECK,
    gps012_host_path.CHECK,
    gps013_resource_name.CHECK,
    gps014_selectors.CHECK,
    gps017_pipe_hidden.CHECK,
    gps018_annotations.CHECK,
    gps019_unmutated.CHECK,
    gps020_ranks.CHECK,
    gps021_launcher.CHECK,
    gps024_memory.CHECK,
    gps025_namespace.CHECK,
    gps034_namespace_limits.CHECK,
)
"""The checks of each pod."""

OBJECT_CHECKS: tuple[Check[Iterable[Violation]], ...] = (gps023_unchecked.CHECK,)
"""The checks of each object on the command line, after those of its pods."""

LIMIT_CHECKS: tuple[Check[gps032_quota.NamespaceLimits], ...] = (gps032_quota.CHECK,)
"""The checks of objects that limit the pods of a namespace, on the command line."""

CONFIG_CHECKS: tuple[Check[SharingConfig], ...] = (gps030_refused.CHECK, gps031_without_effect.CHECK)
"""The checks of configurations of the device plugin, on the command line and in ConfigMaps that the chart guards."""

NAME_CHECKS: tuple[Check[ConfigNames], ...] = (gps033_config_names.CHECK,)
"""The checks of objects that name such a configuration, on the command line."""

LIMITING = frozenset({("", "LimitRange"), ("", "ResourceQuota")})
"""The kinds of these objects."""

CHECKS: tuple[Check[Any], ...] = tuple(
    sorted((*POD_CHECKS, *OBJECT_CHECKS, *CONFIG_CHECKS, *LIMIT_CHECKS, *NAME_CHECKS), key=lambda check: check.code)
)
"""All checks."""
