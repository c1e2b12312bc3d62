"""Fields of a document that the plugin ignores, and which documents are configurations of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias, TypeGuard

from webhook.policy.messages import is_one_edit_away
from webhook.policy.sharing.problems import NEWEST, release_of
from webhook.policy.sharing.schema import FLAGS, GFD, PLUGIN, ROOT, SHARING, Struct, folded
from webhook.policy.verdict import Path

_HOME: Final[Mapping[str, str]] = {
    **dict.fromkeys(SHARING.fields, "sharing"),
    **dict.fromkeys(("renameByDefault", "failRequestsGreaterThanOne"), "sharing.mps or sharing.timeSlicing"),
    **dict.fromkeys(FLAGS.fields, "flags"),
    **dict.fromkeys(PLUGIN.fields, "flags.plugin"),
    **dict.fromkeys(GFD.fields, "flags.gfd"),
}
"""Where fields belong that users often put elsewhere."""


class Ignored(NamedTuple):
    """A field that the plugin does not know at its place, and what to do about it."""

    path: Path
    name: str
    remedy: str


_Held: TypeAlias = "list[tuple[Path, Any, Struct]]"


def ignored(value: object, version: str | None = None) -> Iterator[Ignored]:
    """The fields of a document that the plugin ignores, level by level: all releases, or a known version."""
    release = NEWEST if version is None else release_of(version)
    pending: _Held = [((), value, ROOT)]
    for path, held, struct in pending:
        if isinstance(held, list):
            pending += [((*path, index), item, struct) for index, item in enumerate(held) if isinstance(item, dict)]
            continue
        for key, inner in held.items() if isinstance(held, dict) else ():
            name, here = struct.name_of(key), (*path, key)
            if name is None:
                yield Ignored(here, key, _remedy(key, struct))
            elif (field := struct.fields[name]).since > release:
                yield Ignored(here, key, f"run v0.{field.since} or newer, or remove it")
            elif field.struct is not None:
                pending.append((here, inner, field.struct))


_LONGEST: Final = 40


def _remedy(key: str, struct: Struct) -> str:
    if len(key) <= _LONGEST:
        lower = folded(key)
        for name in struct.fields:
            if is_one_edit_away(folded(name), lower):
                return f"write {name}"
        for name, home in _HOME.items():
            if folded(name) == lower:
                return f"move it below {home}"
    return "remove it"


def member(held: object, name: str) -> tuple[str, Any] | None:
    """The key and the value of a struct's field; None where it is absent. Of a field given twice, Go uses the last."""
    keys = [key for key in held if folded(key) == folded(name)] if isinstance(held, dict) else []
    return (max(keys), held[max(keys)]) if isinstance(held, dict) and keys else None


_VERSION: Final = re.compile("v[0-9]")
_OF_FLAGS: Final = (*FLAGS.fields, *PLUGIN.fields, *GFD.fields)
"""Fields of flags, and those that users put there although they belong one level deeper."""


def is_configuration(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a document is a configuration of the plugin, right or wrong, as its content shows."""
    if not isinstance(value, dict) or "kind" in value:
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
    """Whether the value of `sharing` is that of the plugin. Other programs have `mps` there, too."""
    if member(sharing, "timeSlicing"):
        return True
    mps = member(sharing, "mps")
    if mps and (is_certain or _has_fields(mps[1])):
        return True
    return isinstance(sharing, dict) and any(map(_is_block, sharing.values()))


def _has_fields(value: object) -> bool:
    """Whether a mapping has a field of a sharing block, in any case, or one of its resources."""
    names = ("renameByDefault", "failRequestsGreaterThanOne", "resources", "replicas")
    return any(member(value, name) for name in names)


def _is_block(value: object) -> bool:
    """Whether a mapping that stands at a wrong place, or has a wrong name, is a sharing block."""
    resources = value.get("resources") if isinstance(value, dict) else None
    return isinstance(resources, list) and any(member(one, "replicas") for one in resources)
