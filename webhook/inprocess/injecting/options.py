"""The settings of injections, as data of the policies."""

from __future__ import annotations

from webhook.policy.placement.taints import as_raw
from webhook.policy.settings.settings import Settings


def options(settings: Settings) -> dict[str, str]:
    """The texts that the expressions of injections read from `options`."""
    injections = settings.injections
    mount, runtime_class = injections.pipe_mount, injections.runtime_class
    is_known = settings.facts.runtime_classes
    injects_class = runtime_class.enabled and (is_known or runtime_class.when_unknown == "inject")
    return {
        "annotate": _switch(injections.annotate),
        "hostPathType": mount.type,
        "knowsClasses": _switch(is_known),
        "knowsNodes": _switch(settings.facts.are_about_nodes),
        "limits": _switch(injections.limits.enabled),
        "pipeDirectory": _switch(injections.pipe_directory.enabled),
        "pipeMount": _switch(mount.enabled),
        "readOnly": _switch(mount.read_only),
        "runtimeClass": runtime_class.name if injects_class else "",
        "safeToEvict": _switch(mount.safe_to_evict),
        "tolerateRenamed": _switch(injections.tolerations.enabled and injections.tolerations.resource_name),
        "unlabelled": settings.pod_security.unlabelled,
    }


def tolerations(settings: Settings) -> list[dict[str, str]]:
    """The tolerations of the settings, in the form of a pod's spec."""
    injected = settings.injections.tolerations
    return [as_raw(toleration) for toleration in injected.add] if injected.enabled else []


def _switch(value: bool) -> str:
    return str(value).lower()
