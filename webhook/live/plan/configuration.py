"""A new configuration of the device plugin: a file of its own, or a ConfigMap with one under each key."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

from webhook.cluster.device_plugin import Texts, device_plugin, parse_config_map
from webhook.diagnostics import Diagnostic, InputError
from webhook.dryrun.check import checked_objects
from webhook.dryrun.evaluation import Evaluated, evaluate
from webhook.dryrun.evidence.objects import decoded
from webhook.manifests import Manifest, Source, documents
from webhook.policy.evaluate import Evaluator
from webhook.policy.placement.cluster_objects import DevicePlugin
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.elements import DevicePluginSource
from webhook.policy.settings.settings import Settings
from webhook.policy.sharing.defaults import DefaultRule
from webhook.policy.sharing.fields import is_configuration
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
    warnings = _checked(source, known, settings)
    texts = _texts(source)
    if texts is not None:
        return NewPlugin(_parsed(source, texts, known), warnings)
    default = _FILE if known is None or not known.default_config else known.default_config
    read = _parsed(source, {default: source.data}, known)
    others = () if known is None else (one for one in known.configs or () if one.name != default)
    return NewPlugin(replace(read, configs=(*(read.configs or ()), *others), default_config=default), warnings)


def _checked(source: Source, known: DevicePlugin | None, settings: Settings) -> tuple[str, ...]:
    """What the checks of configurations warn of. Raises InputError for what they deny."""
    version = None if known is None else DevicePlugin(version=known.version)
    evaluator = Evaluator.of(settings, Facts(device_plugin=version))
    denied: list[Diagnostic] = []
    warned: list[str] = []
    for one in checked_objects(source):
        if isinstance(one, Diagnostic):
            denied.append(one)
        evaluated = evaluate(one, evaluator, "") if isinstance(one, Manifest) else None
        if isinstance(evaluated, Diagnostic):
            denied.append(evaluated)
        for found in evaluated.result().findings if isinstance(evaluated, Evaluated) else ():
            said = f"{found.finding.code} {found.finding.message}; {found.finding.remedy}"
            place = Diagnostic(source.file, found.line, found.column, said)
            if found.finding.severity is Severity.DENY:
                denied.append(place)
            else:
                warned.append(str(place))
    if denied:
        raise InputError(denied)
    return tuple(warned)


def _texts(source: Source) -> Texts | None:
    """The configurations of a ConfigMap by key; None for a configuration of its own. Raises InputError."""
    first = next(documents(source.file, source.data), None)
    if isinstance(first, Diagnostic):
        raise InputError([first])
    value = None if first is None else first.value
    if isinstance(value, dict) and value.get("kind") == "ConfigMap":
        found: tuple[str, Texts] | None = decoded(value, parse_config_map)
        if found is not None and found[1]:
            return found[1]
        raise InputError([Diagnostic(source.file, 1, 1, "this ConfigMap holds no configuration of the device plugin")])
    if is_configuration(value):
        return None
    wanted = "write a configuration of the device plugin, or a ConfigMap that holds some"
    raise InputError([Diagnostic(source.file, 1, 1, f"neither a configuration of the device plugin nor a {wanted}")])


def _parsed(source: Source, texts: Texts, known: DevicePlugin | None) -> DevicePlugin:
    """The facts that the texts give, with those that a new configuration does not change. Raises InputError."""
    version = None if known is None else known.version
    read, problems = device_plugin(DevicePluginSource((source.file,), None, version), {source.file: {"": texts}}, None)
    if problems:
        raise InputError(Diagnostic(source.file, 0, 0, problem) for problem in problems)
    default = None if known is None else known.default_config
    if default not in texts:
        default = DefaultRule().choose(texts.keys())
    return replace(read, default_config=default, runtime_class=None if known is None else known.runtime_class)
