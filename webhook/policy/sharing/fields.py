"""Which documents are configurations of the device plugin, and their fields that the plugin ignores."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, TypeGuard

from webhook.policy.messages import is_one_edit_away, message
from webhook.policy.sharing.config import FLAGS, GFD, PLUGIN, ROOT, SHARING, Struct, folded
from webhook.policy.verdict import Path, Violation

_HOME: Final[Mapping[str, str]] = {
    **dict.fromkeys(SHARING.fields, "sharing"),
    **dict.fromkeys(("renameByDefault", "failRequestsGreaterThanOne"), "sharing.mps or sharing.timeSlicing"),
    **dict.fromkeys(FLAGS.fields, "flags"),
    **dict.fromkeys(PLUGIN.fields, "flags.plugin"),
    **dict.fromkeys(GFD.fields, "flags.gfd"),
}
"""Where fields belong that users often put elsewhere."""


def ignored(value: object) -> Iterator[Violation]:
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
