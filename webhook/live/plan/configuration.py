"""A new configuration of the device plugin: a file of its own, or a ConfigMap with one under each key."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from webhook.cluster.device_plugin import Texts, device_plugin, parse_config_map
from webhook.diagnostics import Diagnostic, InputError, Unread
from webhook.dryrun.check import checked_objects
from webhook.dryrun.evaluation import Evaluated, evaluate
from webhook.dryrun.evidence import decoded
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.manifests import Manifest, Source, documents
from webhook.policy.placement.cluster_objects import DevicePlugin
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.elements import DevicePluginSource
from webhook.policy.settings.settings import Settings
from webhook.policy.sharing.objects import DefaultRule, as_object
from webhook.policy.verdict import Severity

_FILE: Final = "config"
"""The name of a configuration in a file of its own, where the default has no name."""


class NewPlugin(NamedTuple):
    """The device plugin after the change, and what the checks of its configuration warn of."""

    plugin: DevicePlugin
    warnings: tuple[str, ...]


def new_plugin(source: Source, known: DevicePlugin | None, settings: Settings) -> NewPlugin:
    """Read a new configuration. Raises InputError for one that the device plugin refuses.

    The keys of a ConfigMap are all configurations. A file of its own replaces the default one.
    """
    document = next(documents(source.file, source.data), None)
    if isinstance(document, Diagnostic):
        raise InputError([document])
    value = None if document is None else document.value
    if document is None or not isinstance(value, dict) or value.get("kind") not in (None, "ConfigMap"):
        wanted = "name a configuration of the device plugin, or a ConfigMap that holds some"
        raise InputError([Diagnostic(source.file, 1, 1, f"no configuration of the device plugin; {wanted}")])
    if "kind" in value:
        warnings = _checked(checked_objects(source), known, settings)
        found: tuple[str, Texts] | None = decoded(dict(value), parse_config_map)
        if found is None or not found[1]:
            problem = "this ConfigMap holds no configuration of the device plugin"
            raise InputError([Diagnostic(source.file, 1, 1, problem)])
        return NewPlugin(_parsed(source, found[1], known), warnings)
    own = Manifest(source.file, document, (), as_object(value))
    warnings = _checked([own], known, settings)
    default = (known and known.default_config) or _FILE
    read = _parsed(source, {default: source.data}, known)
    others = () if known is None else (one for one in known.configs or () if one.name != default)
    return NewPlugin(replace(read, configs=(*(read.configs or ()), *others), default_config=default), warnings)


def _checked(
    found: Iterable[Manifest | Diagnostic | Unread], known: DevicePlugin | None, settings: Settings
) -> tuple[str, ...]:
    """What the checks of configurations warn of. Raises InputError for what they deny."""
    version = None if known is None else DevicePlugin(version=known.version)
    evaluator = OfflineEvaluator.of(settings, Facts(device_plugin=version))
    denied: list[Diagnostic] = []
    warned: list[str] = []
    for one in found:
        evaluated = evaluate(one, evaluator, "") if isinstance(one, Manifest) else one
        if isinstance(evaluated, Diagnostic):
            denied.append(evaluated)
        for each in evaluated.result().findings if isinstance(evaluated, Evaluated) else ():
            said = f"{each.code} {each.message}; {each.remedy}"
            place = Diagnostic(one.file, each.line, each.column, said)
            if each.severity is Severity.DENY:
                denied.append(place)
            else:
                warned.append(str(place))
    if denied:
        raise InputError(denied)
    return tuple(warned)


def _parsed(source: Source, texts: Texts, known: DevicePlugin | None) -> DevicePlugin:
    """The facts that the texts give, with those that a new configuration does not change. Raises InputError."""
    known = known or DevicePlugin()
    named = DevicePluginSource((source.file,), None, known.version)
    read, problems = device_plugin(named, {source.file: {"": texts}}, None)
    if problems:
        raise InputError(Diagnostic(source.file, 0, 0, problem) for problem in problems)
    default = known.default_config if known.default_config in texts else DefaultRule().choose(texts.keys())
    return replace(read, default_config=default, runtime_class=known.runtime_class)
