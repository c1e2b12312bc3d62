"""A configuration of the device plugin: what it means, the first value that is refused, and what is ignored.

Its content shows which document is one.

The rules are those of NVIDIA/k8s-device-plugin from v0.15.0 to v0.20.0: `api/config/v1/config.go` (`NewConfig`) for the
file, and `cmd/nvidia-device-plugin/main.go` (`validateFlags`) for its flags. They cover the version, what shares cards,
and two flags: the MIG strategy, which decides about sharing, and how pods get their devices. Other values are not
checked, unknown fields are ignored, and only the first document counts. The variable MPS_ROOT is set, as in NVIDIA's
charts.

The structs are those of api/config/v1 (config.go, flags.go, sharing.go, imex.go), whose fields Go matches in any case.
The decoders of a sharing block and of its resources (replicas.go) match exactly. Values are checked as Go decodes them:
the plugin converts YAML to JSON (sigs.k8s.io/yaml), where scalars become text for fields that hold text, and decodes
that with encoding/json. A null leaves the default.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cache, partial
from itertools import starmap
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeGuard

from webhook.policy.messages import is_one_edit_away, printable
from webhook.policy.placement.node_classes import DOMAIN, RENAMED
from webhook.policy.pods.reading import type_of
from webhook.policy.verdict import Path, Violation, Violations, message

if TYPE_CHECKING:
    from webhook.policy.placement.cluster_objects import PluginConfig

OLDEST, NEWEST = (0, 15), (0, 20)
"""The releases of the plugin, as major and minor version, whose loaders have these rules (tests/deviceplugin)."""

MOST_RESOURCES: Final = 64
"""Resources that one configuration may share. Every node that uses the configuration is indexed by each of them."""


class RefusedError(Exception):
    """The device plugin refuses a value. The message says why, `path` leads to it, `remedy` says what to write."""

    def __init__(self, path: Path, problem: str, remedy: str = "") -> None:
        super().__init__(problem)
        self.path = path
        self.remedy = remedy


def refusal(value: object) -> RefusedError | None:
    """The first value of a document that the plugin refuses, in the order of the loader; None if it starts."""
    try:
        loaded(value)
    except RefusedError as error:
        return error
    return None


def parse(name: str, value: object, mig_strategy: str | None = None) -> PluginConfig:
    """Return the configuration that a document means, under one key of the plugin's ConfigMap.

    `mig_strategy` is the plugin's environment variable MIG_STRATEGY, which overrides the file. Raises RefusedError if
    the plugin refuses it, and for more resources than are kept.
    """
    from webhook.policy.placement.cluster_objects import PluginConfig, Replicas  # most command lines know no plugin

    fields = loaded(value, mig_strategy)
    for strategy, field in _FIELDS.items():
        path, block = fields[field]
        if block is None:
            continue
        if len(block["resources"]) > MOST_RESOURCES:
            raise RefusedError((*path, "resources"), f"more than {MOST_RESOURCES} resources")
        suffix = RENAMED if block.get("renameByDefault") else ""
        replicas: dict[str, int] = {}  # the plugin resets `rename` and `devices` (`disableResoureRenaming`)
        for resource in block["resources"]:
            shared = full_name(resource["name"]) + suffix
            replicas[shared] = max(int(resource["replicas"]), replicas.get(shared, 0))
        fails = block.get("failRequestsGreaterThanOne")
        return PluginConfig(name, strategy, fails, tuple(starmap(Replicas, replicas.items())))
    return PluginConfig(name)


def nearest_known(version: str | None) -> str:
    """The release whose rules are known, next to a version whose rules are not; empty if they are, or for None."""
    if version is None:
        return ""
    from webhook.policy.placement.cluster_objects import release_of  # as in `parse`

    release = release_of(version)
    nearest = min(max(release, OLDEST), NEWEST)
    return "" if nearest == release else f"v{nearest[0]}.{nearest[1]}"


_FIELDS: Final[Mapping[Literal["mps", "time-slicing"], str]] = {"mps": "mps", "time-slicing": "timeSlicing"}
"""The fields by strategy. MPS takes precedence."""


class ConfigField(NamedTuple):
    """The value of a field, and its path in the document; None for an absent one."""

    path: Path = ()
    value: Any = None


def loaded(value: object, mig_strategy: str | None = None) -> Mapping[str, ConfigField]:
    """The fields of a document. Raises RefusedError for the first value that the loader refuses."""
    fields = read(value)
    path, version = fields["version"]
    if version not in (None, "", "v1"):
        text = str(version).lower() if isinstance(version, bool) else str(version)
        raise RefusedError(path, f'must be v1, not "{printable(text, 48)}"', "write version: v1")
    _require_one_of(fields["deviceListStrategy"], "envvar", "volume-mounts", "cdi-annotations", "cdi-cri")
    if mig_strategy is not None:
        fields["migStrategy"] = ConfigField(("flags", "migStrategy"), mig_strategy)
    mig = fields["migStrategy"]
    if fields["mps"].value is not None and mig.value == "mixed":
        remedy = "use single or none, or share by timeSlicing"
        raise RefusedError(mig.path, "mixed is not supported with sharing.mps", remedy)
    _require_one_of(mig, "none", "single", "mixed")
    return fields


def _require_one_of(field: ConfigField, *known: str) -> None:
    """Raise RefusedError unless a flag has known values, or none (main.go, `validateFlags`)."""
    path, value = field
    for word in () if value is None else value if isinstance(value, list) else (value,):
        if word not in known:
            problem = f'must be {", ".join(known[:-1])} or {known[-1]}, not "{printable(word or "", 24)}"'
            raise RefusedError(path, problem, f"write {known[0]}, or another one of these")


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
    """A field: the check of its value, which raises RefusedError, or the fields of the struct that it holds.

    A field without a check, or with a struct whose fields have none, takes any value.
    """

    check: Callable[[Any, Path], None] | None = None
    struct: Struct | None = None


def folded(name: str) -> str:
    """A name in the case in which Go compares names of fields (encoding/json, `foldName`)."""
    return name.replace("\u017f", "s").replace("\u212a", "k").lower()


def _require(value: object, path: Path, wanted: str, types: type | tuple[type, ...]) -> None:
    """Raise RefusedError unless a value is null or of one of these types."""
    if value is None or isinstance(value, types):
        return
    remedy = f"write {wanted}, or remove it"
    if wanted == "text" and not isinstance(value, (dict, list)):
        remedy = "put it in quotes, or remove it"
    elif wanted == "true or false" and isinstance(value, str):
        remedy = f"write {wanted}, without quotes, or remove it"
    raise RefusedError(path, f"must be {wanted}, not {type_of(value)}", remedy)


_text = partial(_require, wanted="text", types=(str, int, float))
"""Check text, which any scalar becomes."""

_only_text = partial(_require, wanted="text", types=str)
"""Check text that no other scalar becomes: in decoders of the plugin's own, and below `flags`.

There, the struct that holds the fields is embedded, which the conversion does not follow.
"""


def _strategies(value: Any, path: Path) -> None:
    """Check a text or a list of texts (flags.go, `deviceListStrategyFlag.UnmarshalJSON`)."""
    _require(value, path, "text or a list of text", (str, list))
    for index, word in enumerate(value if isinstance(value, list) else ()):
        _only_text(word, (*path, index))


def _block(value: Any, path: Path) -> None:
    """Check a sharing block (replicas.go, `ReplicatedResources.UnmarshalJSON`)."""
    _require(value, path, "a mapping", dict)
    block: Mapping[str, Any] = value or {}
    for name in ("renameByDefault", "failRequestsGreaterThanOne"):
        _require(block.get(name), (*path, name), "true or false", bool)
    resources = block.get("resources")
    if resources is None or resources == []:
        raise RefusedError(path, "must name at least one resource", "remove the block, or list a resource in it")
    path = (*path, "resources")
    _require(resources, path, "a list", list)
    for index, resource in enumerate(resources):
        _resource(resource, (*path, index))


def _optional_block(value: Any, path: Path) -> None:
    """Check a block to which Go has a pointer, so that a null stands for none."""
    if value is not None:
        _block(value, path)


def _resource(value: Any, path: Path) -> None:
    """Check one resource of a block (replicas.go, `ReplicatedResource.UnmarshalJSON`)."""
    _require(value, path, "a mapping", dict)
    resource: Mapping[str, Any] = value or {}
    if "name" not in resource:
        raise RefusedError(path, "name is missing", "add name: nvidia.com/gpu")
    _resource_name(resource["name"], (*path, "name"), "write nvidia.com/gpu")
    devices = resource.get("devices", "all")  # the plugin ignores them (`ReplicatedDevices.UnmarshalJSON`)
    if not (devices == "all" or _is_integer(devices, low=1) or isinstance(devices, list)):
        problem = 'must be "all", a number above 0, or a list of devices'
        raise RefusedError((*path, "devices"), problem, "remove it")
    if "replicas" not in resource:
        raise RefusedError(path, "replicas is missing", "add replicas: 2, or more")
    count, where = resource["replicas"], (*path, "replicas")
    remedy = "set 2 or more, or remove the block to share nothing"
    if count is not None and not _is_integer(count):
        is_number = isinstance(count, (int, float)) and not isinstance(count, bool)
        wanted = "a whole number of 64 bits" if is_number else f"a whole number, not {type_of(count)}"
        raise RefusedError(where, f"must be {wanted}", remedy)
    if (count or 0) < 2:
        raise RefusedError(where, f"must be at least 2, not {int(count or 0)}", remedy)
    if "rename" in resource:
        _resource_name(resource["rename"], (*path, "rename"), "remove it")


def _is_integer(value: Any, low: int = -(2**63)) -> bool:
    """Whether a value is a number without a fraction, not below a bound, and of 64 bits."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and low <= value < 2**63 and value == int(value)


_LONGEST_NAME: Final = 63
_SUBDOMAIN: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")


def full_name(name: str) -> str:
    """A resource's name with its domain."""
    return name if name.startswith(DOMAIN) else DOMAIN + name


def _resource_name(value: Any, path: Path, remedy: str) -> None:
    """Check a resource's name (resources.go, `NewResourceName`)."""
    if not isinstance(value, str):
        raise RefusedError(path, f"must be a resource's name, not {type_of(value)}", remedy)
    name = full_name(value)
    if len(name.encode()) > _LONGEST_NAME:
        raise RefusedError(path, f"longer than {_LONGEST_NAME} characters, {DOMAIN} included", remedy)
    if not _SUBDOMAIN.fullmatch(name.removeprefix(DOMAIN)):
        raise RefusedError(path, f'not a resource\'s name: "{printable(name, 80)}"', remedy)


def _fields(names: str) -> dict[str, Field]:
    """Fields that are known by name alone, in the newest release."""
    return dict.fromkeys(names.split(), Field())


_RESOURCE: Final = Struct(_fields("name rename devices replicas"), is_exact=True)
_BLOCK: Final = Struct(
    _fields("renameByDefault failRequestsGreaterThanOne") | {"resources": Field(struct=_RESOURCE)}, is_exact=True
)
SHARING: Final = Struct({"timeSlicing": Field(_block, _BLOCK), "mps": Field(_optional_block, _BLOCK)})
PLUGIN: Final = Struct(
    _fields("passDeviceSpecs deviceIDStrategy cdiAnnotationPrefix nvidiaCTKPath containerDriverRoot")
    | _fields("sharedDevicesAllocationPolicy")
    | {"deviceListStrategy": Field(_strategies)}
)
GFD: Final = Struct(_fields("oneshot noTimestamp sleepInterval outputFile machineTypeFile"))
FLAGS: Final = Struct(
    _fields("mpsRoot nvidiaDriverRoot failOnInitError gdsEnabled mofedEnabled useNodeFeatureAPI")
    | _fields("nvidiaDevRoot deviceDiscoveryStrategy gdrcopyEnabled")
    | {"migStrategy": Field(_only_text), "plugin": Field(struct=PLUGIN), "gfd": Field(struct=GFD)}
)
_PATTERN: Final = Struct(_fields("pattern name"), is_exact=True)
ROOT: Final = Struct(
    {
        "version": Field(_text),
        "flags": Field(struct=FLAGS),
        "resources": Field(struct=Struct(dict.fromkeys(("gpus", "mig"), Field(struct=_PATTERN)))),
        "sharing": Field(struct=SHARING),
        "imex": Field(struct=Struct(_fields("channelIDs required"))),
    }
)
_JUDGED: Final = (FLAGS, PLUGIN, SHARING)
"""The structs with fields whose values are checked."""


def read(value: Any, struct: Struct = ROOT, path: Path = ()) -> defaultdict[str, ConfigField]:
    """The fields of a document whose values are checked. Of a field given twice, the last one counts.

    Raises RefusedError for the first wrong value in the order in which Go decodes: that of JSON, whose keys the
    conversion from YAML sorts.
    """
    _require(value, path, "a mapping", dict)
    fields = defaultdict[str, ConfigField](ConfigField)
    for key in sorted(value or ()):
        name = struct.name_of(key)
        if name is None:
            continue
        field, here = struct.fields[name], (*path, key)
        if field.check is not None:
            fields[name] = ConfigField(here, value[key])
            field.check(value[key], here)
        elif field.struct in _JUDGED:
            fields.update(read(value[key], field.struct, here))
    return fields


_HOME: Final[Mapping[str, str]] = {
    **dict.fromkeys(SHARING.fields, "sharing"),
    **dict.fromkeys(("renameByDefault", "failRequestsGreaterThanOne"), "sharing.mps or sharing.timeSlicing"),
    **dict.fromkeys(FLAGS.fields, "flags"),
    **dict.fromkeys(PLUGIN.fields, "flags.plugin"),
    **dict.fromkeys(GFD.fields, "flags.gfd"),
}
"""Where fields belong that users often put elsewhere."""


def ignored(value: object) -> Violations:
    """A violation for each field that every release of the plugin ignores, level by level."""
    pending: list[tuple[Path, Any, Struct]] = [((), value, ROOT)]
    for path, fields, struct in pending:
        if isinstance(fields, list):
            pending += [((*path, index), item, struct) for index, item in enumerate(fields) if isinstance(item, dict)]
            continue
        for key, inner in fields.items() if isinstance(fields, dict) else ():
            name, here = struct.name_of(key), (*path, key)
            if name is None:
                problem = message("the device plugin has no field {} here, and ignores it", key)
                yield Violation(here, problem, _remedy(key, struct))
            elif (held := struct.fields[name].struct) is not None:
                pending.append((here, inner, held))


_LONGEST_FIELD: Final = 40


def _remedy(key: str, struct: Struct) -> str:
    if len(key) <= _LONGEST_FIELD:
        lower = folded(key)
        for name in struct.fields:
            if is_one_edit_away(folded(name), lower):
                return f"write {name}"
        for name, home in _HOME.items():
            if folded(name) == lower:
                return f"move it below {home}"
    return "remove it"


def member(fields: object, name: str) -> tuple[str, Any] | None:
    """The key and the value of a struct's field; None where it is absent. Of a field given twice, Go uses the last."""
    if not isinstance(fields, dict):
        return None
    key = max((key for key in fields if folded(key) == folded(name)), default=None)
    return None if key is None else (key, fields[key])


_VERSION: Final = re.compile("v[0-9]")
_OF_FLAGS: Final = (*FLAGS.fields, *PLUGIN.fields, *GFD.fields)
"""Fields of flags, and those that users put there although they belong one level deeper."""


def is_configuration(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a document is a configuration of the plugin, right or wrong, as its content shows."""
    if not is_configuration_beside(value):
        return False
    version, flags = member(value, "version"), member(value, "flags")
    is_versioned = version is not None and isinstance(version[1], str) and bool(_VERSION.match(version[1]))
    sharing = member(value, "sharing")
    if sharing and (is_versioned or _shares(sharing[1], is_certain=bool(version or flags))):
        return True
    if is_versioned and flags and any(member(flags[1], name) for name in _OF_FLAGS):
        return True
    return any(_is_block(found[1]) for name in SHARING.fields if (found := member(value, name)))


def is_configuration_beside(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a document under another key of a ConfigMap that has a configuration is one, too.

    Nodes choose among all keys. Notes, and manifests that are kept there, are left out.
    """
    return isinstance(value, dict) and "kind" not in value


def _shares(sharing: object, *, is_certain: bool) -> bool:
    """Whether the value of `sharing` is that of the plugin. Other programs have `mps` there, too.

    They have no field of a sharing block in it, in any case, or of one of its resources.
    """
    mps = member(sharing, "mps")
    names = ("renameByDefault", "failRequestsGreaterThanOne", "resources", "replicas")
    if member(sharing, "timeSlicing") or (mps and (is_certain or any(member(mps[1], name) for name in names))):
        return True
    return isinstance(sharing, dict) and any(map(_is_block, sharing.values()))


def _is_block(value: object) -> bool:
    """Whether a mapping that stands at a wrong place, or has a wrong name, is a sharing block."""
    resources = value.get("resources") if isinstance(value, dict) else None
    return isinstance(resources, list) and any(member(resource, "replicas") for resource in resources)


_COLON: Final = rb"""\\?["']?\s*:"""


@cache
def _key(name: bytes) -> re.Pattern[bytes]:
    """The key of a name in lower case, which no letter precedes but that of a line break in a text of JSON.

    It may be one of YAML, of JSON, or of either in a text of JSON. The name comes first, because a search for a fixed
    start is fast. Most runs need no such pattern.
    """
    return re.compile(name + rb"(?:(?<![a-z]" + name + rb")|(?<=\\n" + name + rb"))" + _COLON)


def may_be_configuration(data: bytes) -> bool:
    """Whether bytes have the fields by which a configuration is known: those of sharing, or flags and a version.

    Most manifests have none. A search for fixed words in lower case is ten times as fast as a pattern for any case.
    """
    lower = data.lower()
    if any(name in lower and _key(name).search(lower) for name in (b"sharing", b"timeslicing", b"mps")):
        return True
    if b"flags" not in lower or _key(b"flags").search(lower) is None:
        return False
    return re.search(_key(b"version").pattern + rb"""\s*\\?["']?v[0-9]""", lower) is not None


def seems_to_share(text: str) -> bool:
    """Whether a line of a text that is not read opens a sharing block."""
    return re.search(r"^[ \t]*+(?:mps|timeSlicing)[ \t]*+:", text, re.MULTILINE | re.IGNORECASE) is not None
