"""Settings as they would be with enforcement everywhere."""

from __future__ import annotations

from dataclasses import replace

from webhook.policy.settings.settings import Settings


def enforcing(settings: Settings) -> Settings:
    """The settings in the mode `enforce`, and without the modes of namespaces, which could be lower."""
    rules = tuple(replace(rule, mode=None) for rule in settings.namespaces)
    return replace(settings, mode="enforce", namespaces=rules)
