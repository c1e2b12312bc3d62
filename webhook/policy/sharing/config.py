"""One configuration of the device plugin, as the plugin understands it.

The rules are those of NVIDIA/k8s-device-plugin v0.20.0: `api/config/v1/config.go`, `sharing.go`, `replicas.go`,
`resources.go` and `flags.go` for the file, and `cmd/nvidia-device-plugin/main.go` (`validateFlags`) for MIG. The plugin
reads YAML through sigs.k8s.io/yaml into Go structs: names of struct fields match in any case, scalars become strings
where a string is wanted, unknown fields are ignored, and only the first document counts. Sharing blocks have decoders
of their own, whose names match exactly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from webhook.policy.messages import printable
from webhook.policy.placement.cluster_objects import PluginConfig, Replicas, Strategy
from webhook.policy.pods.reading import type_of
from webhook.policy.verdict import Path

MOST_RESOURCES: Final = 64
"""Resources that one configuration may share. Every node that uses the configuration is indexed by each of them."""

_SHARING: Final[Path] = ("sharing",)
_FLAGS_PATH: Final[Path] = ("flags",)
_MIG: Final[Path] = (*_FLAGS_PATH, "migStrategy")

_PREFIX: Final = "nvidia.com/"
_LONGEST_NAME: Final = 63
_SUBDOMAIN: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_UUID: Final = (
    r"(?i:urn:uuid:)?[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|[0-9a-fA-F]{32}"
    r"|\{[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\}"
)
_DEVICE: Final = re.compile(rf"[0-9]+(?::[0-9]+)?|GPU-(?:{_UUID})|MIG-(?:{_UUID})|MIG-GPU-(?:{_UUID})/[0-9]+/[0-9]+")
_DURATION: Final = re.compile(r"infinite|[-+]?(?:0|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)")

FieldCheck: TypeAlias = Callable[[Any, Path], object]
"""Checks a value at a path. Raises RefusedError."""


class RefusedError(Exception):
    """The device plugin rejects a configuration. The message says why, and `path` leads to the value."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(problem)
        self.path = path


def parse(name: str, value: object, mig_strategy: str | None = None) -> PluginConfig:
    """Return the configuration that a document means, under one key of the plugin's ConfigMap. Raises RefusedError.

    `mig_strategy` is the plugin's environment variable MIG_STRATEGY, which overrides the file.
    """
    root = _mapping(value, ())
    version = _text(_member(root, "version", ()), ("version",)) or "v1"
    if version != "v1":
        raise RefusedError(("version",), f'must be v1, not "{printable(version, 48)}"')
    _check_fields(root, _FIELDS, ())
    sharing = _mapping(_member(root, "sharing", ()), _SHARING)
    found = {block: _member(sharing, block, _SHARING, _ABSENT) for block in ("timeSlicing", "mps")}
    # A null stands for no block where Go has a pointer (mps), and is an error where it has a value (timeSlicing).
    sliced = None if found["timeSlicing"] is _ABSENT else _shared(found["timeSlicing"], (*_SHARING, "timeSlicing"))
    if found["mps"] is _ABSENT or found["mps"] is None:
        return _config(name, "none" if sliced is None else "time-slicing", sliced)
    shared = _shared(found["mps"], (*_SHARING, "mps"))
    flags = _mapping(_member(root, "flags", ()), _FLAGS_PATH)
    if (mig_strategy or _text(_member(flags, "migStrategy", _FLAGS_PATH), _MIG)) == "mixed":
        raise RefusedError(_MIG, "mixed is not supported with sharing.mps")
    return _config(name, "mps", shared)


_Shared: TypeAlias = tuple[bool | None, dict[str, int]]


def _config(name: str, strategy: Strategy, shared: _Shared | None) -> PluginConfig:
    fail, replicas = shared or (None, {})
    return PluginConfig(name, strategy, fail, tuple(Replicas(resource, count) for resource, count in replicas.items()))


_ABSENT: Final = object()


def _member(mapping: Mapping[str, Any], name: str, path: Path, default: object = None) -> Any:
    """The value of a struct's field, whose name Go matches in any case."""
    found = [key for key in mapping if key.casefold() == name.casefold()]
    if len(found) > 1:
        raise RefusedError((*path, name), "given more than once, in different case")
    return mapping[found[0]] if found else default


def _shared(block: object, path: Path) -> _Shared:
    """The option and the replicas by resource of one sharing block (`ReplicatedResources.UnmarshalJSON`)."""
    fields = _mapping(block, path)
    rename = _boolean(fields.get("renameByDefault"), (*path, "renameByDefault"))
    fail = _boolean(fields.get("failRequestsGreaterThanOne"), (*path, "failRequestsGreaterThanOne"))
    resources = _list(fields.get("resources"), (*path, "resources"))
    if not resources:
        raise RefusedError((*path, "resources"), "must name at least one resource")
    if len(resources) > MOST_RESOURCES:
        raise RefusedError((*path, "resources"), f"more than {MOST_RESOURCES} resources")
    replicas: dict[str, int] = {}
    for index, resource in enumerate(resources):
        name, count = _replicated(resource, (*path, "resources", index))
        # The plugin resets `rename` and `devices` (`disableResoureRenaming`).
        name = f"{name}.shared" if rename else name
        replicas[name] = max(count, replicas.get(name, 0))
    return fail, replicas


def _replicated(resource: object, path: Path) -> tuple[str, int]:
    """The name and the replicas of one resource (`ReplicatedResource.UnmarshalJSON`)."""
    fields = _mapping(resource, path)
    name = _resource_name(fields.get("name"), (*path, "name"))
    if "devices" in fields:
        _check_devices(fields["devices"], (*path, "devices"))
    count = _integer(fields.get("replicas"), (*path, "replicas"))
    if count < 2:
        raise RefusedError((*path, "replicas"), f"must be at least 2, not {count}")
    if "rename" in fields:
        _resource_name(fields["rename"], (*path, "rename"))
    return name, count


def _resource_name(value: object, path: Path) -> str:
    """A resource's full name (`NewResourceName`)."""
    if not isinstance(value, str):
        raise RefusedError(path, f"must be a resource's name, not {type_of(value)}")
    name = value if value.startswith(_PREFIX) else _PREFIX + value
    if len(name.encode()) > _LONGEST_NAME:
        raise RefusedError(path, f"longer than {_LONGEST_NAME} characters: {printable(name, 80)}")
    if not _SUBDOMAIN.fullmatch(name.removeprefix(_PREFIX)):
        raise RefusedError(path, f'not a resource\'s name: "{printable(name, 80)}"')
    return name


def _check_devices(value: object, path: Path) -> None:
    """Check the devices to share, which the plugin then ignores (`ReplicatedDevices.UnmarshalJSON`)."""
    match value:
        case "all":
            return
        case bool():
            pass
        case int() | float() if 0 < value < 2**63 and value == int(value):
            return
        case list() if all(item is None or _is_device(item) for item in value):
            return
    raise RefusedError(path, 'must be "all", a number above 0, or a list of devices')


def _is_device(item: object) -> bool:
    if isinstance(item, str):
        return _DEVICE.fullmatch(item) is not None
    return isinstance(item, int) and not isinstance(item, bool) and item >= 0


def _check_patterns(resources: object, path: Path) -> None:
    """Check the patterns of resources, which the plugin then ignores (`Resource.UnmarshalJSON`)."""
    for index, resource in enumerate(_list(resources, path)):
        place = (*path, index)
        fields = _mapping(resource, place)
        pattern = fields.get("pattern", _ABSENT)
        if pattern is not None and not isinstance(pattern, str):
            raise RefusedError((*place, "pattern"), "must be text")
        _resource_name(fields.get("name"), (*place, "name"))


# Types, as Go decodes them. A null leaves the zero value.


def _mapping(value: object, path: Path) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise RefusedError(path, f"must be a mapping, not {type_of(value)}")
    return value


def _list(value: object, path: Path) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise RefusedError(path, f"must be a list, not {type_of(value)}")
    return value


def _text(value: object, path: Path) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str() | int() | float():
            return str(value)
    raise RefusedError(path, f"must be text, not {type_of(value)}")


def _boolean(value: object, path: Path) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise RefusedError(path, f"must be true or false, not {type_of(value)}")


def _integer(value: object, path: Path) -> int:
    if value is None:
        return 0
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise RefusedError(path, f"must be a whole number, not {type_of(value)}")
    if not (-(2**63) <= value < 2**63 and value == int(value)):
        raise RefusedError(path, "must be a whole number of 64 bits")
    return int(value)


def _check_fields(fields: Mapping[str, Any], checks: Mapping[str, FieldCheck], path: Path) -> None:
    for name, check in checks.items():
        check(_member(fields, name, path), (*path, name))


def _nested(checks: Mapping[str, FieldCheck]) -> FieldCheck:
    return lambda value, path: _check_fields(_mapping(value, path), checks, path)


def _check_strategies(value: object, path: Path) -> None:
    """Check a text or a list of texts (`deviceListStrategyFlag.UnmarshalJSON`)."""
    if not isinstance(value, str) and not all(item is None or isinstance(item, str) for item in _list(value, path)):
        raise RefusedError(path, "must be text or a list of text")


def _check_duration(value: object, path: Path) -> None:
    """Check a duration (`Duration.UnmarshalJSON`)."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not (value is None or number or (isinstance(value, str) and _DURATION.fullmatch(value))):
        raise RefusedError(path, "must be a duration such as 60s")


def _check_channels(value: object, path: Path) -> None:
    for index, channel in enumerate(_list(value, path)):
        _integer(channel, (*path, index))


_SWITCHES: Final = ("failOnInitError", "gdrcopyEnabled", "gdsEnabled", "mofedEnabled", "useNodeFeatureAPI")
_ROOTS: Final = ("migStrategy", "mpsRoot", "nvidiaDriverRoot", "nvidiaDevRoot", "deviceDiscoveryStrategy")
_TEXTS: Final = ("deviceIDStrategy", "cdiAnnotationPrefix", "nvidiaCTKPath", "containerDriverRoot")
_PLUGIN: Final[Mapping[str, FieldCheck]] = {
    "passDeviceSpecs": _boolean,
    "deviceListStrategy": _check_strategies,
    "sharedDevicesAllocationPolicy": _text,
    **dict.fromkeys(_TEXTS, _text),
}
_GFD: Final[Mapping[str, FieldCheck]] = {
    **dict.fromkeys(("oneshot", "noTimestamp"), _boolean),
    **dict.fromkeys(("outputFile", "machineTypeFile"), _text),
    "sleepInterval": _check_duration,
}
_FLAGS: Final[Mapping[str, FieldCheck]] = {
    **dict.fromkeys(_ROOTS, _text),
    **dict.fromkeys(_SWITCHES, _boolean),
    "plugin": _nested(_PLUGIN),
    "gfd": _nested(_GFD),
}
_FIELDS: Final[Mapping[str, FieldCheck]] = {
    "flags": _nested(_FLAGS),
    "resources": _nested({"gpus": _check_patterns, "mig": _check_patterns}),
    "imex": _nested({"channelIDs": _check_channels, "required": _boolean}),
}
"""The fields besides `version` and `sharing`. The plugin rejects a wrong value in any of them."""
