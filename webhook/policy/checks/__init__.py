"""The checks, in the order of their codes."""

from __future__ import annotations

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
    gps026_fractions,
    gps030_refused,
    gps031_without_effect,
    gps032_quota,
    gps033_config_names,
    gps034_namespace_limits,
)
from webhook.policy.checks.check import Check, Scope
from webhook.policy.context import PodContext
from webhook.policy.sharing.objects import ConfigNames, SharingConfig
from webhook.policy.verdict import Severity, Violations

DENY, WARN, AUDIT = Severity.DENY, Severity.WARN, Severity.AUDIT

POD_CHECKS: tuple[Check[PodContext], ...] = (
    Check(
        "GPS001", DENY, Scope.SHARED, gps001_container_limit.run, "A container requests more replicas than its limit"
    ),
    Check("GPS002", DENY, Scope.MPS, gps002_pod_limit.run, "The pod as a whole requests more replicas than its limit"),
    Check("GPS003", DENY, Scope.NAMES_GPU, gps003_quantity.run, "A GPU quantity is one that the API server rejects"),
    Check(
        "GPS004",
        DENY,
        Scope.MPS,
        gps004_pipe_directory.run,
        "`CUDA_MPS_PIPE_DIRECTORY` points away from the MPS daemon",
    ),
    Check("GPS005", AUDIT, Scope.SHOWN_MPS, gps005_shared_memory.run, "A mount hides the MPS daemon's `/dev/shm`"),
    Check(
        "GPS006", WARN, Scope.MPS, gps006_client_limits.run, "A limit of the MPS client is malformed or has no effect"
    ),
    Check(
        "GPS007",
        WARN,
        Scope.EPHEMERAL,
        gps007_visible_devices.run,
        "The pod reaches GPUs beyond its allocation, or hides its own",
    ),
    Check("GPS008", WARN, Scope.SHOWN_MPS, gps008_users.run, "Containers use MPS as different users"),
    Check(
        "GPS009",
        WARN,
        Scope.SHOWN_MPS,
        gps009_host_namespaces.run,
        "The pod's use of host namespaces does not suit MPS",
    ),
    Check("GPS010", DENY, Scope.GPU, gps010_two_resources.run, "A container requests GPUs that it cannot use together"),
    Check("GPS011", WARN, Scope.GPU, gps011_runtime_class.run, "The runtime class does not suit the pod"),
    Check(
        "GPS012",
        WARN,
        Scope.SHOWN_MPS,
        gps012_host_path.run,
        "The namespace does not allow the mount of the pipe directory",
    ),
    Check(
        "GPS013", WARN, Scope.ANY, gps013_resource_name.run, "A resource name looks like a typo, or no node offers it"
    ),
    Check(
        "GPS014",
        WARN,
        Scope.GPU,
        gps014_selectors.run,
        "Node selector, affinity, taints or the amount contradict the nodes",
    ),
    Check("GPS017", DENY, Scope.MPS, gps017_pipe_hidden.run, "Another volume hides the pipe directory"),
    Check("GPS018", DENY, Scope.ANY, gps018_annotations.run, "A `gpushare-webhook/` annotation is malformed"),
    Check(
        "GPS019",
        WARN,
        Scope.EXPECTS_EDITS,
        gps019_unmutated.run,
        "A pod reached the validating hook without the edits of the mutating one",
    ),
    Check("GPS020", WARN, Scope.SHOWN_MPS, gps020_ranks.run, "Several ranks of one distributed job may share a card"),
    Check(
        "GPS021",
        WARN,
        Scope.GPU,
        gps021_launcher.run,
        "A launcher wants more GPUs than the container, or its group of pods, has",
    ),
    Check("GPS024", WARN, Scope.SHARED, gps024_memory.run, "A program takes more of a card's memory than its share"),
    Check("GPS025", DENY, Scope.SHARED, gps025_namespace.run, "The namespace may not share GPUs"),
    Check(
        "GPS026",
        DENY,
        Scope.ANY,
        gps026_fractions.run,
        "KAI Scheduler rejects the annotations by which the pod asks for a part of a card",
    ),
    Check(
        "GPS034",
        WARN,
        Scope.GPU,
        gps034_namespace_limits.run,
        "A LimitRange or a ResourceQuota of the namespace refuses the pod",
    ),
)
"""The checks of each pod."""

OBJECT_CHECKS: tuple[Check[Violations], ...] = (
    Check(
        "GPS023",
        WARN,
        Scope.OFFLINE,
        gps023_unchecked.run,
        "An object names a GPU resource in a place that cannot be checked",
    ),
)
"""The checks of each object on the command line, after those of its pods."""

LIMIT_CHECKS: tuple[Check[gps032_quota.NamespaceLimits], ...] = (
    Check(
        "GPS032",
        WARN,
        Scope.NAMESPACE_LIMITS,
        gps032_quota.run,
        "A quota counts no GPU, or a LimitRange gives GPUs to pods without one, or rejects them",
    ),
)
"""The checks of objects that limit the pods of a namespace, on the command line."""

CONFIG_CHECKS: tuple[Check[SharingConfig], ...] = (
    Check(
        "GPS030",
        DENY,
        Scope.SHARING_CONFIG,
        gps030_refused.run,
        "The device plugin refuses its configuration, and its nodes offer no GPUs",
    ),
    Check(
        "GPS031",
        WARN,
        Scope.SHARING_CONFIG,
        gps031_without_effect.run,
        "A part of the device plugin's configuration has no effect, or not the effect that it names",
    ),
)
"""The checks of configurations of the device plugin, on the command line and in ConfigMaps that the chart guards."""

NAME_CHECKS: tuple[Check[ConfigNames], ...] = (
    Check(
        "GPS033",
        WARN,
        Scope.CONFIG_NAMES,
        gps033_config_names.run,
        "A name or a key of a configuration of the device plugin leads nowhere",
    ),
)
"""The checks of objects that name such a configuration, on the command line."""

LIMITING = frozenset({("", "LimitRange"), ("", "ResourceQuota")})
"""The kinds of these objects."""

CHECKS: tuple[Check[Any], ...] = tuple(
    sorted((*POD_CHECKS, *OBJECT_CHECKS, *CONFIG_CHECKS, *LIMIT_CHECKS, *NAME_CHECKS), key=lambda check: check.code)
)
"""All checks."""
