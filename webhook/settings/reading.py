"""Settings and facts from plain values: merged with their profile, validated whole, refused with all their problems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from webhook.policy.placement.facts import Facts
from webhook.settings.configuration import API_VERSION, DOCUMENT, KIND, Configuration
from webhook.settings.forms import did_you_mean, shown
from webhook.settings.models import adapter
from webhook.settings.options import Option, overridden
from webhook.settings.problems import Found, Locate, found, refuse
from webhook.settings.profiles import PROFILES, beneath
from webhook.settings.shape import Section, section

FACTS_KIND = "Facts"


def load(value: object, locate: Locate, file: str, options: Sequence[Option] = ()) -> Configuration:
    """The configuration that a settings file holds, under the options; null, an empty file, is all defaults.

    Raises InputError.
    """
    body = overridden(_body(value, KIND, locate, file), options)
    profile = body.get("profile")
    below = PROFILES.get(profile, {}) if isinstance(profile, str) else {}
    held: Configuration = _validated(beneath(below, body), DOCUMENT, locate, file, options)
    return held


def load_facts(value: object, locate: Locate, file: str) -> Facts:
    """The facts that a facts file holds; what is missing or null is unknown. Raises InputError."""
    held: Facts = _validated(_body(value, FACTS_KIND, locate, file), section(Facts), locate, file)
    return held


def _validated(body: dict[str, Any], shape: Section, locate: Locate, file: str, options: Sequence[Option] = ()) -> Any:
    try:
        return adapter(shape).validate_python(body)
    except ValidationError as error:
        raise refuse(found(error, shape), locate, file, options) from None


def _body(value: object, kind: str, locate: Locate, file: str) -> dict[str, Any]:
    """The file's mapping without its header. Raises InputError when this is another kind of file."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise refuse([Found((), f"must be a mapping, not {shown(value)}")], locate, file)
    header = list(_header(value, kind))
    if header:
        raise refuse(header, locate, file)
    return {key: one for key, one in value.items() if key not in ("apiVersion", "kind")}


def _header(value: Mapping[str, Any], kind: str) -> Iterator[Found]:
    for key, right in (("apiVersion", API_VERSION), ("kind", kind)):
        given = value.get(key, right)
        if given != right:
            hint = did_you_mean(given, [right]) if isinstance(given, str) else ""
            yield Found((key,), f'must be "{right}", not {shown(given)}' + (f"; {hint}" if hint else ""))
