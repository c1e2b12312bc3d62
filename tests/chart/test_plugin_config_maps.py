"""The entry for the device plugin's ConfigMaps: off by default, and for the named objects alone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chart.matching import called, request, selects
from tests.chart.render import NAMESPACE, RefusedError, entries, entry, rendered

pytestmark = pytest.mark.slow

Json = dict[str, Any]

NAME = "device-plugin-configurations.validate"
PLUGIN, OPERATOR = "nvidia-device-plugin", "gpu-operator"
VALUES: Json = {"webhooks": {"devicePluginConfigMaps": [f"{PLUGIN}/configs", f"{OPERATOR}/plugin-configs"]}}
LABEL = "kubernetes.io/metadata.name"


def config_map(name: str | None = "configs", data: Json | None = None, **metadata: Any) -> Json:
    named = {} if name is None else {"name": name}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**named, **metadata}, "data": data}


def sent(*requests: Json, values: Json | None = None) -> list[bool]:
    """Whether each request is sent to the entry, and to no other."""
    found = called(VALUES if values is None else values, requests)
    assert all(names in (set(), {NAME}) for names in found), found
    return [names == {NAME} for names in found]


def test_entry_is_off_by_default() -> None:
    assert NAME not in str(entries({}))
    assert all("configmaps" not in str(one["rules"]) for one in entries({}))


def test_entry_selects_only_the_named_namespaces() -> None:
    found = entry(NAME, VALUES)
    assert (found["failurePolicy"], found["clientConfig"]["service"]["path"]) == ("Ignore", "/validate")
    assert found["timeoutSeconds"] == entry("pods.validate", VALUES)["timeoutSeconds"]
    for namespace, selected in {PLUGIN: True, OPERATOR: True, NAMESPACE: False, "team": False}.items():
        assert selects(found["namespaceSelector"], {LABEL: namespace}) is selected


def test_exempt_namespaces_and_selectors_do_not_apply_to_entry() -> None:
    selectors: Json = {
        "namespaceSelector": {"matchLabels": {"gpus": "allowed"}},
        "objectSelector": {"matchLabels": {"checked": "yes"}},
        "matchConditions": [{"name": "has-containers", "expression": "size(object.spec.containers) > 0"}],
        "excludedNamespaces": [PLUGIN],
        "ignoreLabel": True,
        "validating": {"failurePolicy": "Fail"},
    }
    values = {"config": {"exempt": {"namespaces": [PLUGIN]}}, "webhooks": {**VALUES["webhooks"], **selectors}}
    assert entry(NAME, values) == entry(NAME, VALUES)


def test_named_config_maps_are_sent_when_new_or_changed() -> None:
    old, new = config_map(data={"a": "x"}), config_map(data={"a": "y"})
    assert (
        sent(
            request(new, namespace=PLUGIN),
            request(new, before=old, namespace=PLUGIN),
            request(new, before=config_map(), namespace=PLUGIN),
            request(config_map(), before=old, namespace=PLUGIN),
            request(config_map("plugin-configs"), namespace=OPERATOR),
        )
        == [True] * 5
    )


def test_config_map_with_same_data_is_not_sent() -> None:
    data = {"a": "x"}
    old = config_map(data=data)
    labelled = config_map(data=data, labels={"a": "b"}, annotations={"c": "d"}, finalizers=["e.io/f"])
    requests = [request(one, before=old, namespace=PLUGIN) for one in (old, labelled, {**old, "immutable": True})]
    assert sent(*requests, request(config_map(), before=config_map(), namespace=PLUGIN)) == [False] * 4


def other(kind: str, api: str = "v1", **members: Any) -> Json:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "configs"}, **members}


def test_no_other_object_of_the_namespace_is_sent() -> None:
    others = [
        request(config_map("other"), namespace=PLUGIN),
        request(config_map("plugin-configs"), namespace=PLUGIN),
        request(config_map(None, generateName="configs"), namespace=PLUGIN),
        request(config_map("configs"), namespace=OPERATOR),
        request(config_map("configs"), namespace="team"),
        request(other("Secret"), namespace=PLUGIN),
        request(other("Pod", spec={"containers": [{"name": "a", "image": "b"}]}), namespace=PLUGIN),
        request(other("Service", spec={}), namespace=PLUGIN),
        request(other("ServiceAccount"), namespace=PLUGIN),
        request(other("DaemonSet", "apps/v1", spec={}), namespace=PLUGIN),
        request(other("Lease", "coordination.k8s.io/v1", spec={}), namespace=PLUGIN),
    ]
    assert sent(*others) == [False] * len(others)


@pytest.mark.parametrize("name", ["configs", "a/b/c", "/configs", "a/", "a/b'", "A/b", f"{'a' * 64}/b", "a.b/c"])
def test_name_that_no_config_map_has_is_refused(name: str) -> None:
    with pytest.raises(RefusedError, match="devicePluginConfigMaps"):
        rendered({"webhooks": {"devicePluginConfigMaps": [name]}})
