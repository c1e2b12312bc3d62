"""Configurations of the device plugin among the inputs: where `check` finds them, and how it reports them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.run import run

ONE = "version: v1\nsharing:\n  mps:\n    resources:\n    - name: nvidia.com/gpu\n      replicas: 1\n"
"""A configuration that every release refuses, in its last line."""

FOUR = ONE.replace("replicas: 1", "replicas: 4")
MAP = {"config": {"map": {"one": ONE}}, "gfd": {"enabled": True}}
DATA = {"devicePlugin": {"config": {"create": True, "name": "x", "data": {"one": ONE}}}}


def dumped(value: Any) -> str:
    """YAML with texts of several lines as literal blocks."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=1000)


class _Dumper(yaml.SafeDumper):
    pass


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)


def made(version: str, kind: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x", "namespace": "team"}, **fields}


def release(values: Any, chart: str | None = None) -> dict[str, Any]:
    named = {} if chart is None else {"chart": {"spec": {"chart": chart}}}
    return made("helm.toolkit.fluxcd.io/v2", "HelmRelease", spec={**named, "values": values})


def application(**source: Any) -> dict[str, Any]:
    return made("argoproj.io/v1alpha1", "Application", spec=source)


CONFIG_MAP = made("v1", "ConfigMap", data={"one": ONE, "notes": "we share GPUs by mps"})
HOLDERS = {
    "ConfigMap": CONFIG_MAP,
    "review": {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {"operation": "CREATE", "object": CONFIG_MAP},
    },
    "list": {"apiVersion": "v1", "kind": "List", "items": [made("v1", "Secret"), CONFIG_MAP]},
    "HelmRelease": release(MAP),
    "HelmRelease of a chart of charts": release({"nvidia-device-plugin": MAP}),
    "operator": release(DATA),
    "operator in a chart of charts": release({"gpu-operator": DATA}),
    "Application": application(source={"helm": {"valuesObject": MAP}}),
    "Application with text": application(source={"helm": {"values": dumped(DATA)}}),
    "Application with sources": application(sources=[1, {"helm": {"values": dumped(MAP)}}]),
    "ApplicationSet": made(
        "argoproj.io/v1alpha1",
        "ApplicationSet",
        spec={"template": {"spec": {"source": {"helm": {"valuesObject": DATA}}}}},
    ),
    "HelmChart": made("helm.cattle.io/v1", "HelmChart", spec={"valuesContent": dumped(MAP)}),
}


def found(report: Any) -> list[tuple[str, str, str, str, int]]:
    """The findings: object, code, path and place."""
    return [
        (result["object"]["name"], finding["code"], finding["path"], result["file"], finding["line"])
        for result in report["results"]
        for finding in result["findings"]
    ]


def line_of(text: str) -> int:
    return text[: text.index("replicas: 1")].count("\n") + 1


@pytest.mark.parametrize("holder", HOLDERS.values(), ids=HOLDERS)
def test_refused_value_is_found_on_its_line(here: Path, holder: dict[str, Any]) -> None:
    text = dumped(holder)
    (here / "a.yaml").write_text(f"# first\n---\n{text}")
    ended = run("check", "a.yaml", "-o", "json")
    path = "/sharing/mps/resources/0/replicas"
    assert found(ended.json()) == [("x/one", "GPS030", path, "a.yaml", line_of(text) + 2)]
    assert (ended.code, ended.json()["errors"]) == (1, [])


def test_configuration_is_an_object_beside_the_one_that_holds_it(here: Path) -> None:
    (here / "a.yaml").write_text(dumped(CONFIG_MAP).replace(" 1\n", " 4\n"))
    ended = run("check", ".")
    assert ended.out.endswith("2 objects: 1 allowed, 1 skipped\n")
    assert ended.code == 0


@pytest.mark.parametrize("name", ["plugin.yaml", "."])
@pytest.mark.parametrize("text", [ONE, json.dumps(yaml.safe_load(ONE))])
def test_file_of_its_own_is_checked(here: Path, name: str, text: str) -> None:
    (here / "plugin.yaml").write_text(text)
    ended = run("check", name, "-o", "json")
    ((_, code, _, _, line),) = found(ended.json())
    assert (code, line, ended.code) == ("GPS030", text.count("\n") or 1, 1)
    assert "unread" not in ended.json()


@pytest.mark.parametrize("values", [MAP, DATA, {"nvidia-device-plugin": MAP}])
@pytest.mark.parametrize(
    ("name", "is_named"),
    [("chart/values.yaml", True), ("values.yaml", False), ("values.yaml", True), ("plugin.yaml", False)],
)
def test_values_are_checked_and_said_not_to_be_rendered(here: Path, values: Any, name: str, is_named: bool) -> None:
    (here / "chart").mkdir()
    (here / "chart/Chart.yaml").write_text("{apiVersion: v2, name: c, version: 1.0.0}")
    (here / name).write_text(dumped(values))
    ended = run("check", name if is_named else ".", "-o", "json")
    ((_, code, _, file, line),) = found(ended.json())
    assert (code, line, file.removeprefix("./")) == ("GPS030", line_of(dumped(values)), name)
    unread = {one["file"].removeprefix("./"): one["reason"] for one in ended.json()["unread"]}
    assert unread[name] == "part of a Helm chart"
    assert run("check", name, "--fail-on", "unread").code == 1


@pytest.mark.parametrize(
    ("line", "is_error"), [("  mps: [", True), ("timeSlicing: {", True), ("  'quoted: [", False), ("comps: [", False)]
)
def test_text_that_cannot_be_read_is_an_error_if_it_seems_to_share(here: Path, line: str, is_error: bool) -> None:
    text = dumped(made("v1", "ConfigMap", data={"one": f"version: v1\nsharing:\n{line}\n"}))
    (here / "a.yaml").write_text(text)
    ended = run("check", "a.yaml", "-o", "json")
    errors = ended.json()["errors"]
    assert [one["message"].partition(":")[0] for one in errors] == ["this configuration cannot be read"] * is_error
    assert all(one["line"] > 7 for one in errors)
    assert ended.code == (2 if is_error else 0)


@pytest.mark.parametrize(("block", "is_error"), [("mps", True), ("notes", False)])
def test_configuration_that_is_too_large_is_an_error(here: Path, block: str, is_error: bool) -> None:
    text = dumped(made("v1", "ConfigMap", data={"one": ONE.replace("mps", block) + "#" * 65536}))
    (here / "a.yaml").write_text(text)
    errors = run("check", "a.yaml", "-o", "json").json()["errors"]
    assert [(one["line"], one["message"]) for one in errors] == [
        (7, "a configuration of more than 65536 characters is not checked")
    ] * is_error


def in_config_map(**texts: str) -> str:
    return dumped(made("v1", "ConfigMap", data=texts))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("version: v2\n", "GPS030"),
        ("sharing: time-slicing\n", "GPS030"),
        ("sharing: {timeSlice: {resources: []}}\n", "GPS031"),
        (FOUR.replace("version", "verzion"), "GPS031"),
        ("nothing to see: here: [\n", None),
        ("we share GPUs\n", None),
        ("- a\n", None),
        (dumped(made("v1", "Pod")), None),
        ("sharing: {{ .Values.x }}\n", None),
    ],
)
@pytest.mark.parametrize("has_configuration", [True, False])
def test_other_key_of_a_config_map_counts_beside_a_configuration(
    here: Path, text: str, code: str | None, has_configuration: bool
) -> None:
    texts = {"aa": text, **({"four": FOUR} if has_configuration else {})}
    (here / "a.yaml").write_text(in_config_map(**texts))
    report = run("check", "a.yaml", "-o", "json").json()
    is_known = has_configuration or "replicas: 4" in text
    assert [(name, code) for name, code, *_ in found(report)] == ([("x/aa", code)] if code and is_known else [])
    assert report["errors"] == []


def test_key_that_is_given_twice_is_an_error_of_the_reader(here: Path) -> None:
    (here / "a.yaml").write_text(in_config_map(one=f"version: v1\n{FOUR}"))
    (error,) = run("check", "a.yaml", "-o", "json").json()["errors"]
    assert error["message"].startswith('this configuration cannot be read: mapping key "version" is given twice')


TEMPLATE = "timeSlicing: {{ .Values.x }}\nsharing:\n  mps:\n"


@pytest.mark.parametrize("text", [TEMPLATE, f"{FOUR}# {{{{ x }}}}\n", TEMPLATE.replace(".Values.x", "x")])
@pytest.mark.parametrize("is_json", [False, True])
def test_template_in_a_config_map_is_no_error(here: Path, text: str, is_json: bool) -> None:
    value = made("v1", "ConfigMap", data={"shop": text})
    (here / "a.yaml").write_text(json.dumps(value) if is_json else dumped(value))
    ended = run("check", "a.yaml", "-o", "json")
    assert (ended.code, ended.json()["errors"]) == (0, [])


def test_template_in_values_is_an_error(here: Path) -> None:
    (here / "a.yaml").write_text(dumped(release({"config": {"map": {"one": TEMPLATE}}})))
    ended = run("check", "a.yaml", "-o", "json")
    assert [one["message"].partition(":")[0] for one in ended.json()["errors"]] == ["this configuration cannot be read"]


def test_comment_in_the_configuration_ignores_a_finding(here: Path) -> None:
    text = dumped(CONFIG_MAP).replace("replicas: 1", "replicas: 1  # gpushare-webhook: ignore GPS030 - for a test")
    (here / "a.yaml").write_text(text)
    (here / "settings").write_text("suppress: {comments: true}")
    ended = run("check", "a.yaml", "--config", "settings")
    assert (ended.code, "1 finding suppressed" in ended.out) == (0, True)


@pytest.mark.parametrize("namespace", ["kube-system", "nvidia-device-plugin"])
def test_exempt_namespace_does_not_exempt_its_configurations(here: Path, namespace: str) -> None:
    (here / "a.yaml").write_text(dumped(CONFIG_MAP).replace("team", namespace))
    assert [code for _, code, *_ in found(run("check", "a.yaml", "-o", "json").json())] == ["GPS030"]


def test_mutate_leaves_configurations_alone(here: Path) -> None:
    (here / "a.yaml").write_text(dumped(CONFIG_MAP))
    assert run("mutate", "a.yaml").out == dumped(CONFIG_MAP)
    (here / "plugin.yaml").write_text(FOUR)
    assert "not a Kubernetes object" in run("mutate", "plugin.yaml").err


NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "gpu-1", "labels": {"nvidia.com/device-plugin.config": "b"}},
}
POLICY = made("nvidia.com/v1", "ClusterPolicy", spec={"devicePlugin": {"config": {"name": "x", "default": "b"}}})
SECTION = {"devicePlugin": {"config": {"name": "x", "default": "b"}}}


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (POLICY, "/spec/devicePlugin/config/default"),
        (release(SECTION), "/devicePlugin/config/default"),
        (SECTION, "/devicePlugin/config/default"),
        (release({"config": {"default": "b", "map": {"a": FOUR}}, "gfd": {"enabled": True}}), "/config/default"),
        (NODE, "/metadata/labels/nvidia.com~1device-plugin.config"),
    ],
)
def test_name_that_no_configuration_has_is_found_in_each_holder(here: Path, value: Any, path: str) -> None:
    (here / "a.yaml").write_text(dumped(value))
    (here / "b.yaml").write_text(dumped(made("v1", "ConfigMap", data={"a": FOUR})))
    for names in ((".",), ("a.yaml", "b.yaml"), ("b.yaml", "a.yaml")):
        report = run("check", *names, "-o", "json").json()
        assert [(code, found_path) for _, code, found_path, *_ in found(report)] == [("GPS033", path)]
        assert report["errors"] == []


def codes_of(value: Any, here: Path) -> tuple[list[str], list[Any]]:
    """The codes of the findings of a file, sorted, and the errors."""
    (here / "a.yaml").write_text(dumped(value))
    report = run("check", "a.yaml", "-o", "json").json()
    return sorted(code for _, code, *_ in found(report)), report["errors"]


OF_OTHERS = [
    ({"config": {"default": "x", "map": {"page": "file sharing: on"}}}, "my-web"),
    ({"config": {"default": "x", "map": {"a": FOUR}}}, "my-web"),
    ({"config": {"default": "info", "logLevel": "x", "map": {"sharing-panel": "Enables sharing of boards"}}}, None),
    ({"config": {"default": "info", "map": {"panel": "sharing: {boards: true}"}}}, None),
    ({"config": {"default": "x", "data": {"a": FOUR}}}, "gpu-operator"),
    ({"devicePlugin": {"config": {"name": "shared", "default": "x", "sharedDevNum": 4}}}, "intel-gpu"),
    ({"devicePlugin": {"config": {"name": "shared", "default": "x", "sharedDevNum": 4}}}, None),
    ({"devicePlugin": {"config": {"create": True, "map": {"a": FOUR}}}}, "nvidia-device-plugin"),
]


@pytest.mark.parametrize(("values", "chart"), OF_OTHERS)
def test_section_of_another_chart_is_left_alone(here: Path, values: Any, chart: str | None) -> None:
    assert codes_of(release(values, chart), here) == ([], [])


@pytest.mark.parametrize("values", [values for values, chart in OF_OTHERS if chart is None])
def test_values_of_another_chart_are_not_claimed(here: Path, values: Any) -> None:
    codes, errors = codes_of(values, here)
    assert (codes, len(errors)) == ([], 1)


@pytest.mark.parametrize(
    "chart",
    [
        "nvidia-device-plugin",
        "charts/nvidia-device-plugin",
        "../nvidia-device-plugin-0.17.0-rc.1.tgz",
        "{{chart}}",
        None,
    ],
)
def test_data_in_place_of_map_is_found(here: Path, chart: str | None) -> None:
    values = {"config": {"data": {"one": ONE}}}
    assert codes_of(release(values, chart), here) == (["GPS030", "GPS033"], [])
    assert codes_of(values, here) == (["GPS030", "GPS033"], [])


@pytest.mark.parametrize(
    ("discovery", "codes"),
    [({}, ["GPS033"]), ({"gfd": {"enabled": False}}, ["GPS033"]), ({"gfd": {"enabled": True}}, [])],
)
def test_mps_needs_feature_discovery_of_its_chart(here: Path, discovery: dict[str, Any], codes: list[str]) -> None:
    values = {**discovery, "config": {"map": {"default": FOUR, "other": "version: v1"}}}
    for holder in (values, release(values, "nvidia-device-plugin"), release({"nvidia-device-plugin": values})):
        assert codes_of(holder, here) == (codes, [])
    sliced = {**discovery, "config": {"map": {"default": FOUR.replace("mps", "timeSlicing"), "other": 1}}}
    assert codes_of(sliced, here) == ([], [])


def test_known_chart_needs_no_text_that_is_a_configuration(here: Path) -> None:
    values = {"config": {"data": {"one": "version: v1"}, "default": "two"}}
    assert codes_of(release(values, "nvidia-device-plugin"), here) == (["GPS033", "GPS033"], [])
    assert codes_of(release(values, "my-web"), here) == ([], [])
    assert codes_of(release({"nvidia-device-plugin": values}, "my-web"), here) == (["GPS033", "GPS033"], [])
