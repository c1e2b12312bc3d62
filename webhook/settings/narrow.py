"""What a file may say where that is less than the type of a field of the policy allows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from webhook.policy.placement import facts
from webhook.policy.settings import injections as injection_settings
from webhook.policy.settings import settings
from webhook.settings import names
from webhook.settings.forms import Choice, Whole
from webhook.settings.units import DurationText

_Labels = Mapping[Annotated[str, names.LABEL_KEY], Annotated[str, names.LABEL_VALUE]]
_Amounts = Mapping[Annotated[str, names.RESOURCE], Annotated[int, Whole(0)]]
_Severities = Mapping[Annotated[str, names.CODE], Annotated[str, names.SEVERITY]]
_Limit = Annotated[int, Whole(1)] | None
_Named = Annotated[str, names.SOME]
_Effect = Annotated[str, Choice(("NoSchedule", "PreferNoSchedule", "NoExecute"))]

NARROWER: Mapping[tuple[type, str], Any] = {
    (settings.Settings, "severities"): _Severities,
    (settings.Resource, "name"): Annotated[str, names.RESOURCE],
    (settings.Limits, "per_container"): _Limit,
    (settings.Limits, "per_pod"): _Limit,
    (settings.LabelSelector, "match_labels"): _Labels,
    (settings.NamespaceRule, "names"): tuple[Annotated[str, names.NAMESPACES], ...],
    (settings.NamespaceRule, "severities"): _Severities,
    (settings.Exempt, "namespaces"): tuple[Annotated[str, names.NAMESPACE], ...],
    (settings.Exempt, "label"): Annotated[str, names.OPT_OUT_LABEL] | None,
    (settings.Exempt, "annotation"): Annotated[str, names.OPT_OUT_ANNOTATION] | None,
    (injection_settings.RuntimeClassInjection, "name"): Annotated[str, names.OBJECT],
    (injection_settings.RuntimeClassInjection, "sandboxes"): tuple[Annotated[str, names.CLASSES], ...],
    (injection_settings.PipeDirectoryInjection, "container_root"): Annotated[str, names.FOLDER],
    (injection_settings.PipeMountInjection, "mps_root"): Annotated[str, names.FOLDER],
    (injection_settings.Toleration, "key"): Annotated[str, names.TAINT_KEY],
    (injection_settings.Toleration, "value"): Annotated[str, names.LABEL_VALUE] | None,
    (injection_settings.TolerationInjection, "from_nodes"): tuple[Annotated[str, names.TAINT_KEYS], ...],
    (settings.Users, "run_as_user"): Annotated[int, Whole(0)] | None,
    (settings.NodeGroup, "name"): _Named,
    (settings.NodeGroup, "labels"): _Labels,
    (settings.NodeGroup, "resources"): _Amounts,
    (settings.NodeTaint, "key"): Annotated[str, names.TAINT_KEY],
    (settings.NodeTaint, "value"): Annotated[str, names.LABEL_VALUE],
    (settings.PlacementSettings, "mps_labels"): _Labels,
    (settings.FactsSettings, "device_plugin"): Annotated[str, names.NAMESPACED] | None,
    (settings.FactsSettings, "max_age"): Annotated[str, DurationText()],
    (settings.WorkloadPath, "kind"): Annotated[str, names.KIND],
    (settings.WorkloadPath, "path"): Annotated[str, names.TEMPLATE_PATH],
    (settings.WorkloadPath, "group"): Annotated[str, names.GROUP],
    # Facts come from a cluster that checked its own names: only what would mislead is refused.
    (facts.Taint, "key"): _Named,
    (facts.Taint, "effect"): _Effect,
    (facts.Node, "name"): _Named,
    (facts.Node, "resources"): Mapping[_Named, Annotated[int, Whole(0, 2**63 - 1)]],
    (facts.Namespace, "name"): _Named,
    (facts.RuntimeClass, "name"): _Named,
}
"""By class and field."""
