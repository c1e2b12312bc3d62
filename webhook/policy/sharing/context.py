"""The input of the checks of the plugin's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from webhook.policy.verdict import Path, Violation

KIND: Final = ("nvidia-device-plugin", "DevicePluginConfig")
"""The API group and the kind, known to this project only, by which a configuration is checked as an object."""

API_VERSION: Final = f"{KIND[0]}/v1"

_HEADER: Final = frozenset(("apiVersion", "kind", "metadata"))


class ConfigText(NamedTuple):
    """A text of a ConfigMap that is a configuration: where it is, and the value of its document, of any type.

    `unread` says why the text is not read; its value is None then.
    """

    path: Path
    value: object
    unread: Violation | None = None


class SharingConfig(NamedTuple):
    """A configuration of the device plugin: the value of its document. `version`: that of the plugin, if known.

    `unread` says why its text is not read; the value is None then.
    """

    value: object
    version: str | None
    unread: Violation | None = None


def as_object(value: Mapping[str, Any], namespace: str = "", name: str = "", kind: str = KIND[1]) -> dict[str, Any]:
    """A configuration, or values that name some, as an object with the name of the one that holds it."""
    metadata = {"namespace": namespace, "name": name}
    return {**value, "apiVersion": API_VERSION, "kind": kind, "metadata": metadata}


def of_object(held: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration that such an object stands for."""
    return {key: value for key, value in held.items() if key not in _HEADER}
