"""The settings file: the defaults of the contract, and problems with file, line and key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from webhook.diagnostics import InputError
from webhook.policy.checks import CHECKS
from webhook.policy.settings.elements import DevicePluginSource
from webhook.policy.settings.settings import Settings
from webhook.settings.configuration import Configuration
from webhook.settings.load import load, problems_of
from webhook.settings.schema import Problem, schema

Load = Callable[[str], Configuration]

DATA = Path(__file__).parent / "data"
WRONG = yaml.safe_load((DATA / "wrong.yaml").read_text(encoding="utf-8").replace("LATEST", CHECKS[-1].code))


def test_contract_file_loads_as_default(load_text: Load) -> None:
    assert load_text((DATA / "defaults.yaml").read_text(encoding="utf-8")) == Configuration()


@pytest.mark.parametrize("text", ["", "# nothing\n", "{}", "---\n", "apiVersion: gpushare-webhook/v1\nkind: Settings"])
def test_every_key_may_be_omitted(load_text: Load, text: str) -> None:
    assert load_text(text) == Configuration()


def test_defaults_in_seconds_and_bytes() -> None:
    assert Configuration().settings == Settings()
    assert Configuration().server.body_limit == 28 * 1024 * 1024
    assert Configuration().server.keep_alive == 110.0


def test_values_reach_dataclasses(load_text: Load) -> None:
    read = load_text(
        """
        mode: warn
        resources: []
        limits: {perContainer: null, perPod: 4}
        severities: {GPS005: deny, GPS009: off}
        namespaces: [{names: ["team-*"], mode: audit, severities: {GPS001: warn}}]
        injections: {tolerations: {add: [{key: sku, operator: Equal, value: gpu, effect: null}]}}
        users: {hostIPC: true}
        placement: {nodeGroups: [{name: t4, taints: [{key: sku}], resources: {nvidia.com/gpu: 4}}]}
        facts: {maxAge: 1h30m}
        server: {port: 0, healthPort: 0, bodyLimit: 512Ki, bodyTimeout: 1500ms, shutdownDelay: 0s}
        tls: {clientCA: ca.pem, clientSubjects: [system:kube-apiserver]}
        """
    )
    settings = read.settings
    assert (settings.mode, settings.resources) == ("warn", ())
    assert (settings.limits.per_container, settings.limits.per_pod) == (None, 4)
    assert settings.severities == {"GPS005": "deny", "GPS009": "off"}
    assert (settings.namespaces[0].names, settings.namespaces[0].mode) == (("team-*",), "audit")
    assert settings.namespaces[0].severities == {"GPS001": "warn"}
    (toleration,) = settings.injections.tolerations.add
    assert (toleration.key, toleration.operator, toleration.value, toleration.effect) == ("sku", "Equal", "gpu", None)
    assert settings.users.host_ipc
    (group,) = settings.placement.node_groups
    assert (group.name, group.taints[0].key, group.resources) == ("t4", "sku", {"nvidia.com/gpu": 4})
    assert settings.facts.max_age == 5400.0
    assert (read.server.port, read.server.body_limit, read.server.body_timeout) == (0, 512 * 1024, 1.5)
    assert read.server.shutdown_delay == 0.0
    assert (read.tls.client_ca, read.tls.client_subjects) == ("ca.pem", ("system:kube-apiserver",))


@pytest.mark.parametrize("case", WRONG, ids=[case["file"].partition("\n")[0] for case in WRONG])
def test_all_problems_reported_with_position(load_text: Load, case: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        load_text(case["file"])
    assert [str(one) for one in caught.value.diagnostics] == [f"file.yaml:{problem}" for problem in case["problems"]]
    assert str(caught.value) == "\n".join(map(str, caught.value.diagnostics))


@pytest.mark.parametrize("case", WRONG, ids=[case["file"].partition("\n")[0] for case in WRONG])
def test_schema_rejects_what_validation_rejects(case: dict[str, Any]) -> None:
    value = yaml.safe_load(case["file"])
    assert Draft202012Validator(schema()).is_valid(value) is (case.get("schema") == "allows")


def test_list_is_not_a_settings_file() -> None:
    with pytest.raises(InputError, match=r"^file.yaml:1:1: must be a mapping, not a list$"):
        load([], lambda _: (1, 1), "file.yaml")


@pytest.mark.parametrize("key", [1, "\ud800"])
def test_keys_must_be_text(key: Any) -> None:
    with pytest.raises(InputError, match=r"^file.yaml:1:1: .*must be text|valid string"):
        load({key: 2}, lambda _: (1, 1), "file.yaml")


def test_text_over_length_limit_rejected(load_text: Load) -> None:
    with pytest.raises(InputError, match=r"it is longer than 253 characters$"):
        load_text(f"server: {{host: {'x' * 300}}}")


def test_messages_shorten_and_sanitise_values(load_text: Load) -> None:
    with pytest.raises(InputError) as caught:
        load_text('mode: "\\e[31m' + "x" * 5000 + '"')
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("path", [(), ("server",), ("server", "port", "[key]"), ("nowhere", 1)])
def test_unexpected_error_of_pydantic_keeps_its_text(path: tuple[str | int, ...]) -> None:
    odd: Any = {"type": PydanticCustomError("odd", "An odd text"), "loc": path, "input": {}}
    error = ValidationError.from_exception_data("Settings", [odd])
    expected = tuple(step for step in path if step != "[key]")
    assert list(problems_of(error, Configuration)) == [Problem(expected, "An odd text")]


@pytest.mark.parametrize(
    "text", ["facts: {devicePlugin: gpus/configs}", "facts: {devicePlugin: {configMaps: [gpus/configs]}}"]
)
def test_device_plugin_is_a_config_map_or_a_mapping(load_text: Load, text: str) -> None:
    assert load_text(text).settings.facts.device_plugin == DevicePluginSource(("gpus/configs",))


@pytest.mark.parametrize("key", ["nodes", "namespaces", "runtimeClasses", "deviceClasses", "devicePlugin"])
def test_facts_are_wanted_where_one_part_is_read(load_text: Load, key: str) -> None:
    assert not Settings().facts.are_wanted
    value = "gpus/plugin" if key == "devicePlugin" else "true"
    assert load_text(f"facts: {{{key}: {value}}}").settings.facts.are_wanted
