"""The settings that an explanation names: their descriptions and defaults, from the schema of the settings file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webhook.cli.explanation.blocks import Setting
from webhook.cli.explanation.wrapping import wrapped
from webhook.report.data import yaml_text
from webhook.settings.configuration import SETTINGS_FILE
from webhook.settings.schema_tree import Field, Object, bare, write_briefly


def setting(key: str) -> Setting:
    """Return the setting of a dotted key. Raises LookupError if the settings file has no such key."""
    path = tuple(key.split("."))
    field = _field(SETTINGS_FILE, path)
    return Setting(path, field.description, write_briefly(field.node, field.default))


def _field(section: Object, path: Sequence[str]) -> Field:
    field = section.field(path[0])
    if field is None:
        raise LookupError(path[0])
    if len(path) == 1:
        return field
    below = bare(field.node)
    if isinstance(below, Object):
        return _field(below, path[1:])
    raise LookupError(path[1])


def settings_file(settings: Sequence[Setting], width: int) -> str:
    """Return the part of a settings file that has these settings, with comments that fit the width."""
    return "".join(f"{line}\n" for line in _lines(settings, 0, width))


def _lines(settings: Sequence[Setting], depth: int, width: int) -> Iterator[str]:
    """Yield the lines of settings whose paths are the same above this depth."""
    for key in dict.fromkeys(one.path[depth] for one in settings):
        below = [one for one in settings if one.path[depth] == key]
        if len(below[0].path) == depth + 1:
            yield from wrapped(below[0].description, width, before="# ", after="# ").splitlines()
            yield from yaml_text({key: below[0].default}).splitlines()
        else:
            yield f"{key}:"
            yield from (f"  {line}" for line in _lines(below, depth + 1, width - 2))
