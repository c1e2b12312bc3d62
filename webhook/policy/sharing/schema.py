"""The fields of the plugin's configuration: what each holds, and the first release that has it.

The structs are those of NVIDIA/k8s-device-plugin api/config/v1 (config.go, flags.go, sharing.go, imex.go), whose fields
Go matches in any case. The decoders of a sharing block and of its resources (replicas.go) match exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

from webhook.policy.sharing import values
from webhook.policy.sharing.problems import FIRST, Problem, Problems
from webhook.policy.sharing.values import Check, each, wrong_type
from webhook.policy.verdict import Path


class Struct(NamedTuple):
    """The fields of a mapping, or of each element of a list."""

    fields: Mapping[str, Field]
    is_exact: bool = False

    def name_of(self, key: str) -> str | None:
        """The field that a key stands for; None if it stands for none."""
        if key in self.fields or self.is_exact:
            return key if key in self.fields else None
        return next((name for name in self.fields if folded(name) == folded(key)), None)


class Field(NamedTuple):
    """A field, and the check of its value; None for a struct, whose fields are checked. `struct`: what it holds."""

    check: Check | None
    struct: Struct | None = None
    since: int = FIRST


def folded(name: str) -> str:
    """A name in the case in which Go compares names of fields (encoding/json, `foldName`)."""
    return name.replace("\u017f", "s").replace("\u212a", "k").lower()


def _fields(check: Check | None, names: str, since: int = FIRST) -> dict[str, Field]:
    return {name: Field(check, None, since) for name in names.split()}


def _resource(value: Any, path: Path) -> Problems:
    """Check one resource of a block (replicas.go, `ReplicatedResource.UnmarshalJSON`)."""
    if value is not None and not isinstance(value, dict):
        yield wrong_type(value, path, "a mapping")
        return
    held: Mapping[str, Any] = value or {}
    if "name" not in held:
        yield Problem(path, "name is missing", "add name: nvidia.com/gpu")
        return
    yield from values.resource_name(held["name"], (*path, "name"))
    if "devices" in held:
        yield from values.devices(held["devices"], (*path, "devices"))
    yield from _replicas(held, path)
    if "rename" in held:
        yield from values.resource_name(held["rename"], (*path, "rename"), "remove it")


def _replicas(held: Mapping[str, Any], path: Path) -> Problems:
    if "replicas" not in held:
        yield Problem(path, "replicas is missing", "add replicas: 2, or more")
        return
    count = held["replicas"]
    path = (*path, "replicas")
    remedy = "set 2 or more, or remove the block to share nothing"
    if count is not None and not values.is_integer(count):
        yield values.no_integer(count, path)._replace(remedy=remedy)
    elif (count or 0) < 2:
        yield Problem(path, f"must be at least 2, not {int(count or 0)}", remedy)


def _block(value: Any, path: Path) -> Problems:
    """Check a sharing block (replicas.go, `ReplicatedResources.UnmarshalJSON`)."""
    if value is not None and not isinstance(value, dict):
        yield wrong_type(value, path, "a mapping")
        return
    held: Mapping[str, Any] = value or {}
    for name in ("renameByDefault", "failRequestsGreaterThanOne"):
        yield from values.boolean(held.get(name), (*path, name))
    resources = held.get("resources")
    if resources is None or resources == []:
        yield Problem(path, "must name at least one resource", "remove the block, or list a resource in it")
        return
    yield from each(resources, (*path, "resources"), _resource)


def _optional_block(value: Any, path: Path) -> Problems:
    """Check a block to which Go has a pointer, so that a null stands for none."""
    if value is not None:
        yield from _block(value, path)


def _pattern(value: Any, path: Path) -> Problems:
    """Check a pattern of resources, which the plugin then ignores (resources.go, `Resource.UnmarshalJSON`)."""
    if value is not None and not isinstance(value, dict):
        yield wrong_type(value, path, "a mapping")
        return
    held: Mapping[str, Any] = value or {}
    missing = next((name for name in ("pattern", "name") if name not in held), None)
    if missing:
        yield Problem(path, f"{missing} is missing", "remove it")
        return
    yield from values.only_text(held["pattern"], (*path, "pattern"))
    yield from values.resource_name(held["name"], (*path, "name"), "remove it")


def _patterns(value: Any, path: Path) -> Problems:
    yield from each(value, path, _pattern)


_RESOURCE: Final = Struct(_fields(None, "name rename devices replicas"), is_exact=True)
_BLOCK: Final = Struct(
    _fields(None, "renameByDefault failRequestsGreaterThanOne") | {"resources": Field(None, _RESOURCE)}, is_exact=True
)
_PATTERN: Final = Struct(_fields(None, "pattern name"), is_exact=True)
SHARING: Final = Struct({"timeSlicing": Field(_block, _BLOCK), "mps": Field(_optional_block, _BLOCK)})
PLUGIN: Final = Struct(
    _fields(values.boolean, "passDeviceSpecs")
    | _fields(values.strategies, "deviceListStrategy")
    | _fields(values.only_text, "deviceIDStrategy cdiAnnotationPrefix nvidiaCTKPath containerDriverRoot")
    | _fields(values.only_text, "sharedDevicesAllocationPolicy", since=20)
)
GFD: Final = Struct(
    _fields(values.boolean, "oneshot noTimestamp")
    | _fields(values.duration, "sleepInterval")
    | _fields(values.only_text, "outputFile machineTypeFile")
)
FLAGS: Final = Struct(
    _fields(values.only_text, "migStrategy mpsRoot nvidiaDriverRoot")
    | _fields(values.boolean, "failOnInitError gdsEnabled mofedEnabled useNodeFeatureAPI")
    | _fields(values.only_text, "nvidiaDevRoot deviceDiscoveryStrategy", since=16)
    | _fields(values.boolean, "gdrcopyEnabled", since=18)
    | {"plugin": Field(None, PLUGIN), "gfd": Field(None, GFD)}
)
IMEX: Final = Struct(_fields(values.integers, "channelIDs", since=17) | _fields(values.boolean, "required", since=17))
ROOT: Final = Struct(
    {
        "version": Field(values.text),
        "flags": Field(None, FLAGS),
        "resources": Field(None, Struct(dict.fromkeys(("gpus", "mig"), Field(_patterns, _PATTERN)))),
        "sharing": Field(None, SHARING),
        "imex": Field(None, IMEX, since=17),
    }
)


class Held(NamedTuple):
    """The value of a field, its path in the document, and the first release that has the field."""

    path: Path
    value: Any
    since: int = FIRST


def read(value: Any, held: dict[str, Held], struct: Struct = ROOT, path: Path = ()) -> Iterator[Problem]:
    """Yield the problems of a document, and add its fields to those held. Of a field given twice, the last one counts.

    The order is that in which Go decodes: of JSON, whose keys the conversion from YAML sorts.
    """
    if value is not None and not isinstance(value, dict):
        yield wrong_type(value, path, "a mapping")
        return
    fields: Mapping[str, Any] = value or {}
    for key in sorted(fields):
        name = struct.name_of(key)
        if name is None:
            continue
        field, here = struct.fields[name], (*path, key)
        if field.check is None:
            found = read(fields[key], held, cast("Struct", field.struct), here)
        else:
            held[name] = Held(here, fields[key], field.since)
            found = field.check(fields[key], here)
        for problem in found:
            yield problem._replace(since=max(problem.since, field.since))
