"""One configuration of the device plugin, read from the text of a ConfigMap."""

from __future__ import annotations

from typing import Final

from webhook.diagnostics import Diagnostic, dotted
from webhook.manifests import documents
from webhook.policy.placement.cluster_objects import PluginConfig
from webhook.policy.sharing import config

LARGEST: Final = 64 * 1024
"""Bytes of the largest configuration that is read: a hundred times a usual one."""


class PluginConfigError(Exception):
    """The device plugin rejects a configuration. The message says where and why."""


def parse(name: str, data: bytes, mig_strategy: str | None = None) -> PluginConfig:
    """Read the configuration under one key of the plugin's ConfigMap. Raises PluginConfigError.

    `mig_strategy` is the plugin's environment variable MIG_STRATEGY, which overrides the file.
    """
    try:
        return config.parse(name, first_document(data), mig_strategy)
    except config.RefusedError as error:
        where = dotted(error.path) or "the configuration"
        raise PluginConfigError(f"{where}: {error}") from error


def first_document(data: bytes) -> object:
    """The first document of a text; None without one. Raises PluginConfigError."""
    if len(data) > LARGEST:
        raise PluginConfigError(f"larger than {LARGEST} bytes")
    for found in documents("", data):
        if isinstance(found, Diagnostic):
            raise PluginConfigError(f"line {found.line}: {found.message}")
        return found.value
    return None
