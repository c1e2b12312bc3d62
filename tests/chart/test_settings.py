"""The settings of the chart: rendered unchanged, valid for the program, and the same in the templates."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart.render import CHART, FULLNAME, MODES, Values, cases, of_kind, only, pod_spec
from webhook.dryrun.files import configuration
from webhook.policy.settings.formats import Duration
from webhook.settings.configuration import Configuration, ServerSettings, view
from webhook.settings.profiles import PROFILES

pytestmark = pytest.mark.slow


def settings_file(values: str | Values) -> str:
    """The text of the settings file in the ConfigMap that the pods mount, if there are any."""
    config_map = only_settings(values)
    for deployment in of_kind("Deployment", values):
        volumes = {volume["name"]: volume for volume in deployment["spec"]["template"]["spec"]["volumes"]}
        assert volumes["settings"]["configMap"]["name"] == config_map["metadata"]["name"]
    assert list(config_map["data"]) == ["settings.yaml"]
    text: str = config_map["data"]["settings.yaml"]
    return text


def only_settings(values: str | Values) -> dict[str, Any]:
    (found,) = [one for one in of_kind("ConfigMap", values) if one["metadata"]["name"] == FULLNAME]
    return found


def read(text: str, folder: Path) -> Configuration:
    """The configuration as `serve --config` reads it."""
    file = folder / "settings.yaml"
    file.write_text(text)
    return configuration(str(file))


def effective(values: Values, folder: Path) -> tuple[Any, Any]:
    """The settings as the templates see them, and as the program reads them from the ConfigMap of the same release."""
    shown = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "effective"}}
    text = json.dumps({**shown, "data": {"settings": "SETTINGS"}})
    text = text.replace('"SETTINGS"', '{{ include "gpushare-webhook.settings" . | quote }}')
    given = {**values, "extraObjects": [text]}
    (found,) = [one for one in of_kind("ConfigMap", given) if one["metadata"]["name"] == "effective"]
    program = view(read(settings_file(given), folder))
    templates = without_elements(json.loads(found["data"]["settings"]))
    for settings in (program, templates):
        del settings["guard"]  # the chart decides about the guard
        for labels in ("mpsLabels", "timeSlicingLabels"):
            del settings["placement"][labels]  # which no template reads
    del program["apiVersion"], program["kind"]
    return templates, program


def without_elements(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_elements(below) for key, below in value.items() if not key.endswith(("[]", "{}"))}
    return [without_elements(one) for one in value] if isinstance(value, list) else value


OVERRIDES: dict[str, dict[str, Any]] = cases("settings")["overrides"]
FULL: dict[str, Any] = cases("settings")["full"]
WITH_PROFILES = ("nothing", "what profiles set")
USUAL = "device-plugin"


@pytest.mark.parametrize(
    ("label", "profile"),
    [(label, profile) for label in OVERRIDES for profile in (PROFILES if label in WITH_PROFILES else (USUAL,))],
)
def test_templates_see_the_settings_of_the_program(label: str, profile: str, tmp_path: Path) -> None:
    templates, program = effective({"config": {"profile": profile, **OVERRIDES[label]}}, tmp_path)
    assert templates == program
    assert program["profile"] == profile


@pytest.mark.parametrize("profile", PROFILES)
def test_templates_see_the_settings_of_a_mixed_cluster(profile: str, tmp_path: Path) -> None:
    config = {"profile": profile, **OVERRIDES["a scalar"]}
    templates, program = effective({"mixedCluster": True, "config": config}, tmp_path)
    assert templates == program
    assert (program["profile"], program["limits"]["fromDevicePlugin"]) == (profile, True)


def test_templates_declare_no_defaults_of_settings() -> None:
    """The one exception depends on the profile: OpenShift's own rules forbid what an unlabelled namespace allows."""
    found = [
        (file.name, line.strip())
        for file in sorted((CHART / "templates").glob("*"))
        if file.is_file()
        for line in file.read_text().splitlines()
        if re.search(r"Values\.config|gpushare-webhook\.config\"", line) and ("dig " in line or "get " in line)
    ]
    assert found == [("_settings.tpl", OPENSHIFT)]


OPENSHIFT = '{{- dig "podSecurity" "unlabelled" $usual (include "gpushare-webhook.config" . | fromYaml) -}}'


@pytest.mark.parametrize("mode", MODES)
def test_program_loads_rendered_settings(mode: str, tmp_path: Path) -> None:
    assert read(settings_file(mode), tmp_path)


def test_settings_rendered_unchanged(tmp_path: Path) -> None:
    values = {"config": FULL}
    usual = {"denyInMutate": False, "facts": {"runtimeClasses": True}}
    assert yaml.safe_load(settings_file(values)) == FULL | usual
    held = read(settings_file(values), tmp_path)
    assert (held.settings.limits.per_container, held.settings.limits.per_pod) == (2147483647, None)
    assert held.server.body_limit == 28 * 2**20
    assert held.settings.severities == {"GPS005": "off", "GPS007": "off"}


def test_runtime_classes_read_by_default(tmp_path: Path) -> None:
    assert read(settings_file("default"), tmp_path).settings.facts.runtime_classes is True
    for config in ({"facts": {"runtimeClasses": False}}, None):
        assert read(settings_file({"config": config}), tmp_path).settings.facts.runtime_classes is False


SOURCES = ("nodes", "namespaces", "runtimeClasses", "deviceClasses")


def test_keys_of_config_override_mixed_cluster() -> None:
    config: dict[str, Any] = {
        "facts": {"namespaces": False, "runtimeClasses": False, "devicePlugin": "a/b", "maxAge": "1h"},
        "limits": {"perPod": 3, "fromDevicePlugin": False},
        "mode": "warn",
    }
    facts = {"nodes": True, "deviceClasses": True, **config["facts"]}
    text = settings_file({"mixedCluster": True, "config": config})
    assert yaml.safe_load(text) == {**config, "facts": facts, "denyInMutate": False}


def test_settings_rendered_unchanged_in_mixed_cluster() -> None:
    text = settings_file({"mixedCluster": True, "config": FULL})
    on = {"facts": dict.fromkeys(SOURCES, True), "limits": FULL["limits"] | {"fromDevicePlugin": True}}
    assert yaml.safe_load(text) == FULL | on | {"denyInMutate": False}
    assert "2147483647" in text


@pytest.mark.parametrize(
    ("server", "seconds"),
    [
        ({}, 25),
        ({"shutdownDelay": "0s", "drainTimeout": "0s"}, 5),
        ({"shutdownDelay": "1m30s"}, 105),
        ({"drainTimeout": "1h"}, 3615),
        ({"shutdownDelay": "100ms", "drainTimeout": "2500ms"}, 9),
        ({"shutdownDelay": "1m500ms", "drainTimeout": "4500ms"}, 71),
    ],
)
def test_grace_period_follows_settings(server: dict[str, str], seconds: int) -> None:
    grace: int = pod_spec({"config": {"server": server}})["terminationGracePeriodSeconds"]
    assert grace == seconds
    parts = [Duration(may_be_zero=True).read(server.get(key, "10s")) for key in ("shutdownDelay", "drainTimeout")]
    assert sum(parts) + 5 <= grace < sum(parts) + 7


def test_server_keeps_idle_connections_longer_than_api_server() -> None:
    """Go's default transport closes them after 90 s; a server that closes first can lose a create."""
    assert ServerSettings().keep_alive > 90


def rollout(config: dict[str, Any] | None) -> dict[str, Any]:
    found: dict[str, Any] = only("Deployment", {"config": config})["spec"]["template"]
    return found


def test_rollout_only_for_process_settings() -> None:
    usual = rollout({})
    policy: list[dict[str, Any]] = [{"mode": "audit"}, {"limits": {"perPod": 2}}, {"severities": {"GPS005": "deny"}}]
    process: list[dict[str, Any]] = [
        {"log": {"level": "debug"}},
        {"tls": {"minVersion": "1.2"}},
        {"server": {"maxInFlight": 8}},
        {"facts": {"runtimeClasses": False}},
    ]
    assert [rollout(config) == usual for config in policy] == [True] * len(policy)
    assert [rollout(config) == usual for config in process] == [False] * len(process)


def test_rollout_when_resources_change_that_select_nodes() -> None:
    renamed = {"resources": [{"name": "example.com/gpu", "kind": "shared"}]}
    watching = {"facts": {"nodes": True}}
    assert rollout(renamed) == rollout({})
    assert rollout(watching | renamed) != rollout(watching)
