"""Objects of a run that describe its cluster, as facts: what each kind shows, and what none of them can show."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.run import Ended, run
from webhook.dryrun.check import FirstPass
from webhook.dryrun.evidence import known_from
from webhook.manifests import Source
from webhook.policy.placement.cluster_objects import DeviceClass
from webhook.policy.settings.settings import Settings

Json = dict[str, Any]

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: two}
spec:
%s  containers:
    - name: c
      resources: {limits: {nvidia.com/gpu: %d}}
"""
TIME_SLICING = "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}\n"
MPS = TIME_SLICING.replace("timeSlicing", "mps")
WHOLE = "version: v1\nflags: {migStrategy: none}\n"


def pod(gpus: int = 2, **spec: Any) -> str:
    return POD % ("".join(f"  {key}: {json.dumps(value)}\n" for key, value in spec.items()), gpus)


def config_map(name: str = "plugin", namespace: str = "gpu-operator", **texts: str) -> str:
    return text("v1", "ConfigMap", name, metadata={"namespace": namespace}, data=texts)


def text(version: str, kind: str, name: str = "x", *, metadata: Json | None = None, **fields: Any) -> str:
    return yaml.safe_dump(
        {"apiVersion": version, "kind": kind, "metadata": {"name": name, **(metadata or {})}, **fields}, width=1000
    )


def node(strategy: str, name: str = "gpu-1", gpus: int = 4, pool: str = "a", **fields: Any) -> str:
    shares = strategy != "none"
    labels = {
        "nvidia.com/gpu.sharing-strategy": strategy,
        "nvidia.com/gpu.replicas": "4" if shares else "1",
        "nvidia.com/gpu.product": "T4-SHARED" if shares else "T4",
        "pool": pool,
    }
    status = {"capacity": {"cpu": "8", "nvidia.com/gpu": str(gpus)}, "allocatable": {"nvidia.com/gpu": str(gpus)}}
    return text("v1", "Node", name, metadata={"labels": labels}, status=status, **fields)


def runtime_class(name: str, handler: str) -> str:
    return text("node.k8s.io/v1", "RuntimeClass", name, handler=handler)


def helm_release(values: Any) -> str:
    return text("helm.toolkit.fluxcd.io/v2", "HelmRelease", spec={"values": values})


def application(chart: str = "", **helm: Any) -> str:
    return text("argoproj.io/v1alpha1", "Application", spec={"source": {"chart": chart, "helm": helm}})


PLUGIN_VALUES = {"config": {"map": {"default": TIME_SLICING}}}
OPERATOR_VALUES = {"devicePlugin": {"config": {"create": True, "name": "x", "data": {"any": TIME_SLICING}}}}


class Case:
    """Files of a folder, and the reports about them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, *files: str, options: Iterable[object] = ()) -> Json:
        """The report about the files."""
        report: Json = self.run(*files, options=(*options, "-o", "json")).json()
        return report

    def run(self, *files: str, options: Iterable[object] = ()) -> Ended:
        for old in self._folder.glob("*.yaml"):
            old.unlink()
        for number, content in enumerate(files):
            (self._folder / f"{number}.yaml").write_text(content)
        return run("check", ".", *options)


@pytest.fixture
def case(here: Path) -> Case:
    return Case(here)


def codes(report: Json) -> list[str]:
    return [finding["code"] for result in report["results"] for finding in result["findings"]]


def said(report: Json) -> tuple[list[str], list[str]]:
    """What is read as facts, in words, and the reasons of what is not."""
    facts = report.get("factsFromInputs", {})
    return [one["says"] for one in facts.get("read", ())], [one["reason"] for one in facts.get("refused", ())]


# How GPUs are shared.


def as_json(written: str) -> str:
    return json.dumps(yaml.safe_load(written))


MAPS = (config_map("sliced", default=TIME_SLICING), config_map("mps", default=MPS))
NAMED = {"config": {"name": "sliced", "default": "default"}}
DIFFER = "two configurations differ"
ELSEWHERE = "settings, values or a ClusterPolicy name a ConfigMap that no input holds"


def policy(name: str, default: str | None = None) -> str:
    config = {"name": name} if default is None else {"name": name, "default": default}
    return text("nvidia.com/v1", "ClusterPolicy", spec={"devicePlugin": {"config": config}})


def chart_release(name: str, chart: str = "other", **config: Any) -> str:
    spec = {"chart": {"spec": {"chart": chart}}, "values": {"config": {"name": name, **config}}}
    return text("helm.toolkit.fluxcd.io/v2", "HelmRelease", spec=spec)


def helm_chart(**spec: Any) -> str:
    return text("helm.cattle.io/v1", "HelmChart", spec=spec)


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ([config_map(default=MPS)], "MPS"),
        ([config_map(default=TIME_SLICING)], "time-slicing"),
        ([config_map(default=WHOLE, a=TIME_SLICING)], "time-slicing, whole cards"),
        ([config_map(default=TIME_SLICING, a=MPS)], "MPS, time-slicing"),
        ([config_map(default=as_json(TIME_SLICING))], "time-slicing"),
        ([as_json(config_map(default=TIME_SLICING))], "time-slicing"),
        ([as_json(config_map(default=as_json(TIME_SLICING)))], "time-slicing"),
        # Values hold a configuration.
        ([yaml.safe_dump(PLUGIN_VALUES)], "time-slicing"),
        ([yaml.safe_dump(OPERATOR_VALUES)], "time-slicing"),
        ([yaml.safe_dump({"nvidia-device-plugin": PLUGIN_VALUES})], "time-slicing"),
        ([yaml.safe_dump({"gpu-operator": OPERATOR_VALUES})], "time-slicing"),
        ([helm_release(PLUGIN_VALUES)], "time-slicing"),
        ([application(values=yaml.safe_dump(OPERATOR_VALUES))], "time-slicing"),
        # Policies and values name a ConfigMap.
        ([*MAPS, policy("sliced")], "time-slicing"),
        ([*MAPS, policy("mps")], "MPS"),
        ([*MAPS, chart_release("sliced", default="")], "time-slicing"),
        ([*MAPS, chart_release("sliced", fallbackStrategies=["single"])], "time-slicing"),
        ([*MAPS, chart_release("sliced", "nvidia-device-plugin")], "time-slicing"),
        ([*MAPS, yaml.safe_dump({"nvidia-device-plugin": {"config": {"name": "sliced"}}})], "time-slicing"),
        ([*MAPS, yaml.safe_dump(NAMED, sort_keys=False)], "time-slicing"),
        ([*MAPS, json.dumps(NAMED)], "time-slicing"),
        ([*MAPS, application(values=json.dumps(NAMED))], "time-slicing"),
        ([*MAPS, application("nvidia-device-plugin", valuesObject={"config": {"name": "sliced"}})], "time-slicing"),
        (
            [*MAPS, helm_chart(chart="nvdp/nvidia-device-plugin", valuesContent="config: {name: sliced}")],
            "time-slicing",
        ),
    ],
)
def test_inputs_show_how_gpus_are_shared(case: Case, files: list[str], says: str) -> None:
    report = case(pod(), *files)
    assert ("GPS001" in codes(report)) is ("MPS" in says)
    assert said(report) == ([f"device plugin: {says}"], [])
    assert "assumed" not in report


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ([], DIFFER),
        ([policy("elsewhere")], ELSEWHERE),
        ([policy("sliced").replace("nvidia.com", "kyverno.io")], DIFFER),
        # These deploy another chart, or none.
        ([chart_release("sliced")], DIFFER),
        ([chart_release("sliced", default=1, fallbackStrategies="single")], DIFFER),
        ([chart_release("", default="")], DIFFER),
        ([chart_release("", "nvidia-device-plugin")], DIFFER),
        ([chart_release("sliced", "nvidia-device-plugin").replace("name: sliced", "name: [sliced]")], DIFFER),
        (
            [json.dumps({"nvidia-device-plugin": {"enabled": False, "config": {"name": "sliced", "default": ""}}})],
            DIFFER,
        ),
        ([policy("sliced").replace("config:", "enabled: false\n    config:")], DIFFER),
    ],
)
def test_config_maps_that_differ_count_only_if_an_object_names_one(case: Case, files: list[str], why: str) -> None:
    assert said(case(pod(), *MAPS, *files)) == ([], [why])


def operator(**config: Any) -> str:
    values = {"devicePlugin": {"config": {"name": "x", "data": {"any": TIME_SLICING}, **config}}}
    return yaml.safe_dump(values)


@pytest.mark.parametrize(
    "other",
    [
        config_map(default=WHOLE),
        config_map(notes="sharing: we share it"),
        config_map(default=MPS.replace("replicas: 4", "replicas: 1")),
        text("example.com/v1", "ConfigMap", data={"default": TIME_SLICING}),
        text("v1", "ConfigMap", data={"default": [TIME_SLICING]}),
        text("v1", "Secret", stringData={"default": TIME_SLICING}),
        "config: {map: {default: 'sharing: {}'}}\n",
        "config: [map]\ndevicePlugin: text\ngpu-operator: 1\nsharing: {}\n",
        "- sharing: {}\n",
        # Values that no chart takes, or from which it makes no configuration.
        f"# sharing: it mentions this\n{application(values='a: [b')}",
        f"# sharing: it mentions this\n{application(values=1)}",
        f"# sharing: it mentions this\n{helm_release([PLUGIN_VALUES])}",
        operator(),
        operator(create=False),
        operator(create="true"),
        yaml.safe_dump({"devicePlugin": {"enabled": False, **OPERATOR_VALUES["devicePlugin"]}}),
        yaml.safe_dump({"gpu-operator": {"enabled": False, **OPERATOR_VALUES}}),
        yaml.safe_dump({"nvidia-device-plugin": {"enabled": False, **PLUGIN_VALUES}}),
        # Nodes without GPUs.
        text("v1", "Node", "cpu", status={"allocatable": {"cpu": "8"}}),
        text("v1", "Node", "labelled", metadata={"labels": {"nvidia.com/mps.capable": "true"}}),
        node("none").replace("v1", "example.com/v1"),
    ],
)
def test_objects_that_show_no_sharing_leave_the_assumption(case: Case, other: str) -> None:
    report = case(pod(), other)
    assert set(codes(report)) - {"GPS030", "GPS033"} == {"GPS001"}
    assert report["assumed"] == {"sharing": "mps", "findings": 1}
    assert "factsFromInputs" not in report


@pytest.mark.parametrize("named", [("operator/values.yaml",), (".", "operator/values.yaml"), ("-",)])
def test_named_values_with_a_configuration_are_read_as_facts(here: Path, named: tuple[str, ...]) -> None:
    (here / "operator").mkdir()
    (here / "operator/Chart.yaml").write_text("{apiVersion: v2, name: operator, version: 1.0.0}")
    (here / "operator/values.yaml").write_text(yaml.safe_dump(OPERATOR_VALUES))
    (here / "pod.yaml").write_text(pod())
    report = run("check", "pod.yaml", *named, "-o", "json", stdin=yaml.safe_dump(OPERATOR_VALUES).encode()).json()
    assert (codes(report), report["errors"]) == ([], [])
    assert said(report) == (["device plugin: time-slicing"], [])
    assert "part of a Helm chart" in [one["reason"] for one in report["unread"]]


@pytest.mark.parametrize(
    ("values", "errors"),
    [
        ({"devicePlugin": {"config": {"name": "plugin", "default": "other"}}}, 0),
        ({"devicePlugin": {"enabled": True}}, 1),
    ],
)
def test_named_values_are_an_error_unless_they_name_a_configuration(here: Path, values: Json, errors: int) -> None:
    (here / "pod.yaml").write_text(pod())
    (here / "values.yaml").write_text(yaml.safe_dump(values))
    (here / "plugin.yaml").write_text(config_map(one=TIME_SLICING, other=MPS))
    report = run("check", ".", "values.yaml", "-o", "json").json()
    assert len(report["errors"]) == errors
    assert said(report) == (["device plugin: MPS, time-slicing"], [])


def test_settings_choose_among_contradicting_policies(case: Case, here: Path) -> None:
    (here / "settings").write_text("facts: {devicePlugin: gpu-operator/sliced}")
    files = (config_map("sliced", default=TIME_SLICING), policy("sliced"), policy("mps"))
    assert said(case(pod(), *files, options=("--config", "settings"))) == (["device plugin: time-slicing"], [])


def test_settings_choose_among_config_maps(case: Case, here: Path) -> None:
    (here / "settings").write_text("facts: {devicePlugin: gpu-operator/sliced}")
    options = ("--config", "settings")
    assert said(case(pod(), *MAPS, policy("mps"), options=options)) == (["device plugin: time-slicing"], [])
    moved = config_map("sliced", namespace="other", default=TIME_SLICING)
    assert said(case(pod(), moved, options=options)) == ([], [ELSEWHERE])
    anywhere = config_map("sliced", namespace="", default=TIME_SLICING).replace("namespace: ''", "labels: {}")
    assert said(case(pod(), anywhere, options=options)) == (["device plugin: time-slicing"], [])
    assert said(case(pod(), yaml.safe_dump(PLUGIN_VALUES), options=options)) == ([], [ELSEWHERE])


@pytest.mark.parametrize(
    ("holder", "default"),
    [
        (config_map(a=TIME_SLICING, b=MPS), None),
        (config_map(default=TIME_SLICING, b=MPS), "default"),
        (yaml.safe_dump({"config": {"map": {"a": TIME_SLICING, "b": MPS}, "default": "a"}}), "a"),
        (yaml.safe_dump({"config": {"map": {"a": TIME_SLICING, "b": MPS}, "fallbackStrategies": ["empty"]}}), ""),
        (yaml.safe_dump({"config": {"map": {"a": TIME_SLICING, "b": MPS}, "fallbackStrategies": [1]}}), None),
        (config_map("x", a=TIME_SLICING, b=MPS) + "---\n" + policy("x", "b"), "b"),
        (config_map("x", a=TIME_SLICING) + "---\n" + policy("x"), None),
        (config_map("x", a=TIME_SLICING, b=MPS) + "---\n" + chart_release("x", default="b"), "b"),
        (
            config_map("x", default=TIME_SLICING, b=MPS) + "---\n" + chart_release("x", "nvidia-device-plugin"),
            "default",
        ),
    ],
)
def test_default_configuration_is_that_of_what_deploys_the_plugin(here: Path, holder: str, default: str | None) -> None:
    first = FirstPass([Source("all.yaml", holder.encode(), named=False)])
    known = known_from(first, Settings(), "", says_sharing=True)
    assert known.facts.device_plugin is not None
    assert known.facts.device_plugin.default_config == default
    assert known.facts.device_plugin.runtime_class is None


REFUSED = MPS.replace("4", "1")


def test_configuration_that_the_plugin_rejects_is_named_and_lifts_no_limit(case: Case) -> None:
    report = case(pod(), config_map(default=TIME_SLICING, bad=REFUSED))
    read, (why,) = said(report)
    assert read == ["device plugin: time-slicing"]
    assert why.startswith(
        "ConfigMap gpu-operator/plugin, key bad: sharing.mps.resources[0].replicas: must be at least 2"
    )
    assert report["assumed"]["findings"] == 1


@pytest.mark.parametrize("version", ["v0.20.0", "v0.19.0"])
def test_limit_that_the_plugin_does_not_have_stays_beside_a_rejected_configuration(
    case: Case, here: Path, version: str
) -> None:
    (here / "settings").write_text(
        f"facts: {{devicePlugin: {{configMaps: [gpu-operator/plugin], version: {version}}}}}"
    )
    several = MPS.replace("mps: {", "mps: {failRequestsGreaterThanOne: false, ")
    report = case(pod(), config_map(default=several, bad=REFUSED), options=("--config", "settings"))
    assert "GPS001" in codes(report)


def test_other_configurations_beside_a_rejected_one_show_what_runs_out_of_memory(case: Case) -> None:
    server = pod(1).replace("name: c", "name: c\n      image: registry.example/vllm/vllm-openai:v1")
    for shared in ({"default": TIME_SLICING, "bad": REFUSED}, {"default": TIME_SLICING, "bad": "sharing: we share"}):
        report = case(server, config_map(**shared))
        assert [one for one in codes(report) if one != "GPS030"] == ["GPS024"]
        assert "assumed" not in report


def test_rejected_configuration_may_be_meant_to_rename_and_to_change_labels(case: Case) -> None:
    renaming = REFUSED.replace("{resources", "{renameByDefault: true, resources")
    shared = pod(1, nodeSelector={"nvidia.com/gpu.product": "T4"}).replace("nvidia.com/gpu:", "nvidia.com/gpu.shared:")
    assert codes(case(shared, config_map(default=TIME_SLICING, bad=renaming))) == ["GPS030"]


def test_name_of_a_rejected_configuration_exists(case: Case) -> None:
    labelled = node("time-slicing").replace("pool: a", "nvidia.com/device-plugin.config: %s")
    maps = config_map(default=TIME_SLICING, bad=REFUSED)
    assert codes(case(labelled.replace("%s", "bad"), maps)) == ["GPS030"]
    assert codes(case(labelled.replace("%s", "worse"), maps)) == ["GPS033", "GPS030"]


def test_configurations_that_differ_beside_a_rejected_one_count_for_nothing(case: Case) -> None:
    maps = config_map("a", default=TIME_SLICING, bad=REFUSED), config_map("b", default=MPS, bad=REFUSED)
    assert said(case(pod(), *maps))[0] == []


# Nodes.


@pytest.mark.parametrize(
    ("strategy", "reported", "is_assumed"),
    [("mps", ["GPS001"], False), ("time-slicing", [], False), ("none", ["GPS001"], True)],
)
def test_node_that_shares_decides_about_pods_that_it_could_take(
    case: Case, strategy: str, reported: list[str], is_assumed: bool
) -> None:
    report = case(pod(), node(strategy))
    assert codes(report) == reported
    assert said(report) == (["1 node"], [])
    assert ("assumed" in report) is is_assumed


def test_nodes_of_a_list_without_kinds_are_read(case: Case) -> None:
    items = [
        {key: value for key, value in yaml.safe_load(node("time-slicing", f"gpu-{n}")).items() if key != "kind"}
        for n in "ab"
    ]
    for item in items:
        del item["apiVersion"]
    report = case(pod(), json.dumps({"apiVersion": "v1", "kind": "NodeList", "items": items}))
    assert said(report) == (["2 nodes"], [])
    assert codes(report) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: gpu-1", "name: [gpu-1]"),
        ("name: gpu-1", "name:"),
        ("pool: a", "pool: 1"),
        ("nvidia.com/gpu: '4'", "nvidia.com/gpu: true"),
        ("nvidia.com/gpu: '4'", "nvidia.com/gpu: [4]"),
    ],
)
def test_node_that_the_api_server_would_reject_is_named_and_no_node_is_used(case: Case, old: str, new: str) -> None:
    report = case(pod(), node("mps", "gpu-2"), node("none").replace(old, new), node("mps", "gpu-3"))
    refused = {"part": "nodes", "reason": "one cannot be read", "places": [{"file": "./2.yaml", "line": 1}]}
    assert report["factsFromInputs"] == {"refused": [refused]}
    assert report["assumed"]["findings"] == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("nvidia.com/gpu: '4'", "nvidia.com/gpu: 4"),
        ("nvidia.com/gpu: '4'", "nvidia.com/gpu: 4.0"),
        ("cpu: '8'", "cpu:"),
        ("pool: a", "pool:"),
        ("status:", "spec:\nstatus:"),
        ("status:", "spec: {taints: }\nstatus:"),
        ("status:", "spec: {taints: [{key: example.com/a, value: null, effect: PreferNoSchedule}]}\nstatus:"),
    ],
)
def test_node_is_read_as_people_write_it(case: Case, old: str, new: str) -> None:
    written = node("time-slicing").replace(old, new)
    assert written != node("time-slicing")
    report = case(pod(), written)
    assert said(report) == (["1 node"], [])
    assert codes(report) == []


def test_null_of_a_class_or_a_label_is_its_zero_value() -> None:
    written = "\n---\n".join(
        (
            runtime_class("a", "b") + "scheduling: {nodeSelector: {c: null}}",
            runtime_class("d", "e").replace("handler: e", "handler:"),
            text("resource.k8s.io/v1", "DeviceClass", "f") + "spec:",
            node("none").replace("pool: a", "pool:").replace("nvidia.com/gpu: '4'", "nvidia.com/gpu:"),
        )
    )
    known = known_from(FirstPass([Source("a.yaml", written.encode())]), Settings(), "", says_sharing=True)
    assert [(one.name, one.handler, one.node_selector) for one in known.shown.runtime_classes] == [
        ("a", "b", {"c": ""}),
        ("d", "", {}),
    ]
    assert known.facts.device_classes == (DeviceClass("f"),)
    (one,) = known.shown.nodes
    assert (one.labels["pool"], one.resources) == ("", {"nvidia.com/gpu": 0})


def test_node_of_unknown_class_leaves_the_assumption(case: Case) -> None:
    unlabelled = text("v1", "Node", "gpu", status={"allocatable": {"nvidia.com/gpu": "4"}})
    assert case(pod(), unlabelled)["assumed"]["findings"] == 1


# Classes and queues.


def test_runtime_class_shows_its_handler(case: Case) -> None:
    report = case(pod(1, runtimeClassName="quick"), runtime_class("quick", "runsc"), config_map(default=MPS))
    assert codes(report) == ["GPS011"]
    assert said(report)[0] == ["device plugin: MPS", "1 RuntimeClass"]
    assert codes(case(pod(1, runtimeClassName="quick"), runtime_class("quick", "nvidia"))) == []


def test_device_class_makes_excess_a_warning(case: Case) -> None:
    device_class = text(
        "resource.k8s.io/v1", "DeviceClass", "gpu.nvidia.com", spec={"extendedResourceName": "nvidia.com/gpu"}
    )
    report = case(pod(), device_class)
    assert [one["decision"] for one in report["results"]] == ["warned", "skipped"]
    assert said(report) == (["1 DeviceClass"], [])
    other = device_class.replace("nvidia.com/gpu\n", "example.com/gpu\n")
    assert case(pod(), other)["results"][0]["decision"] == "denied"


def test_settings_that_say_how_gpus_are_shared_win_over_device_class(case: Case) -> None:
    device_class = text("resource.k8s.io/v1", "DeviceClass", "gpu", spec={"extendedResourceName": "nvidia.com/gpu"})
    report = case(pod(), device_class, options=("--profile", "device-plugin"))
    assert report["results"][0]["decision"] == "denied"
    assert "factsFromInputs" not in report


JOB = text(
    "batch/v1",
    "Job",
    metadata={"namespace": "team-a"},
    spec={"template": {"spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": 2}}}]}}},
)


def queue(name: str, namespace: str | None) -> str:
    metadata = {} if namespace is None else {"namespace": namespace}
    return text("kueue.x-k8s.io/v1beta1", "LocalQueue", name, metadata=metadata, spec={"clusterQueue": "all"})


def test_default_queue_of_standard_input_needs_no_namespace() -> None:
    content = f"{JOB.replace('  namespace: team-a', '  labels: {}')}---\n{queue('default', None)}"
    report = run("check", "-", "-o", "json", stdin=content.encode()).json()
    assert said(report) == (["1 default queue"], [])
    assert report["results"][0]["decision"] == "warned"


@pytest.mark.parametrize(
    ("other", "options", "decision"),
    [
        (queue("default", "team-a"), (), "warned"),
        (queue("default", None), ("-n", "team-a"), "warned"),
        (queue("default", None), (), "denied"),
        (queue("default", "team-b"), (), "denied"),
        (queue("other", "team-a"), (), "denied"),
        (queue("default", "team-a").replace("kueue.x-k8s.io", "example.com"), (), "denied"),
        (queue("default", "team-a").replace("team-a", "[team-a]"), (), "denied"),
        (queue("default", "team-a").replace("metadata:", "metadata: text\nm:"), (), "denied"),
    ],
)
def test_local_queue_named_default_queues_jobs_of_its_namespace(
    case: Case, other: str, options: tuple[str, ...], decision: str
) -> None:
    assert case(JOB, other, options=options)["results"][0]["decision"] == decision


def test_setting_wins_over_local_queue(case: Case, here: Path) -> None:
    (here / "settings").write_text("workloads: {defaultQueue: false}")
    options = ("--config", "settings")
    assert case(JOB, queue("default", "team-a"), options=options)["results"][0]["decision"] == "denied"


def test_facts_name_the_namespaces_with_a_default_queue(case: Case, here: Path) -> None:
    (here / "facts").write_text("defaultQueues: [team-a]")
    assert case(JOB, options=("--facts", "facts"))["results"][0]["decision"] == "warned"


# Limits of namespaces.


def limit_range(namespace: str | None = "lab", kind: str = "Container", **most: Any) -> str:
    return text("v1", "LimitRange", "cap", metadata={"namespace": namespace}, spec={"limits": [{"type": kind, **most}]})


def quota(**spec: Any) -> str:
    return text("v1", "ResourceQuota", "cap", metadata={"namespace": "lab"}, spec=spec)


IN_LAB = pod(gpus=2).replace("{name: two}", "{name: two, namespace: lab}")
ONE = {"nvidia.com/gpu": "1"}


@pytest.mark.parametrize(
    ("other", "options", "fires"),
    [
        (limit_range(max=ONE), (), True),
        (limit_range(None, max=ONE), ("-n", "lab"), True),
        (limit_range(None, max=ONE), (), False),
        (limit_range("other", max=ONE), (), False),
        (limit_range(kind="Pod", max=ONE), (), True),
        (limit_range(kind="PersistentVolumeClaim", max=ONE), (), False),
        (limit_range(max={"nvidia.com/gpu": "2"}), (), False),
        (limit_range(max={"nvidia.com/gpu": "some"}), (), False),
        (limit_range(max={"nvidia.com/gpu": "0.5"}), (), False),
        (limit_range(max={"cpu": "1"}), (), False),
        (limit_range(min=ONE), (), False),
        (limit_range(max="text"), (), False),
        (text("v1", "LimitRange", "cap", metadata={"namespace": "lab"}, spec="text"), (), False),
        (quota(hard={"requests.nvidia.com/gpu": 1}), (), True),
        (quota(hard={"nvidia.com/gpu": 1}), (), False),
        (quota(hard={"requests.nvidia.com/gpu": 1}, scopes=["BestEffort"]), (), False),
        (quota(hard=["text"]), (), False),
    ],
)
def test_limit_of_namespace_refuses_pod(case: Case, other: str, options: tuple[str, ...], *, fires: bool) -> None:
    report = case(IN_LAB, other, options=("--profile", "whole-cards", *options))
    assert ("GPS034" in codes(report)) is fires


@pytest.mark.parametrize(("known", "fires"), [("nodes: []\n", True), ("namespaceLimits: []\n", False)])
def test_facts_about_limits_outrank_inputs(case: Case, here: Path, known: str, *, fires: bool) -> None:
    (here / "facts").write_text(known)
    report = case(IN_LAB, limit_range(max=ONE), options=("--profile", "whole-cards", "--facts", "facts"))
    assert ("GPS034" in codes(report)) is fires


# Profiles.


GKE = {"cloud.google.com/gke-accelerator": "nvidia-l4"}


@pytest.mark.parametrize(
    ("files", "profiles"),
    [
        ((pod(nodeSelector=GKE),), [{"profile": "gke", "file": "./0.yaml", "line": 5}]),
        ((pod(nodeSelector=GKE), pod(nodeSelector=GKE)), [{"profile": "gke", "file": "./0.yaml", "line": 5}]),
        ((pod() + "# cloud.google.com/gke-accelerator\n",), None),
        ((pod(nodeSelector={"cloud.google.com/machine-family": "g2"}),), None),
        (
            (pod(nodeSelector={"cloud.google.com/compute-class": "a"}),),
            [{"profile": "gke", "file": "./0.yaml", "line": 5}],
        ),
        ((text("cloud.google.com/v1", "ComputeClass"), pod()), [{"profile": "gke", "file": "./0.yaml", "line": 1}]),
        (
            (pod() + "# gke-gcsfuse/volumes\nx-gke-gcsfuse/volumes: a\n",),
            [{"profile": "gke", "file": "./0.yaml", "line": 9}],
        ),
        (
            (pod(), text("nvidia.com/v1alpha1", "GPUCluster", spec={"draDriver": {}})),
            [{"profile": "dra", "file": "./1.yaml", "line": 1}],
        ),
        ((pod(), text("idealab.io/v1alpha1", "GPUCluster")), None),
    ],
)
def test_markers_propose_a_profile_once(case: Case, files: tuple[str, ...], profiles: list[Json] | None) -> None:
    assert case(*files)["assumed"].get("profiles") == profiles


def test_text_report_proposes_the_profile_at_its_end(case: Case) -> None:
    assert case.run(pod(nodeSelector=GKE)).out.endswith(
        "or .gpushare.yaml; ./0.yaml:5 has marks of GKE: use --profile gke\n"
    )
    assert "gke" not in case.run(pod(nodeSelector=GKE), options=("--profile", "gke")).out.splitlines()[-1]


# Contradictions.


CHOICES = (policy("mps"), policy("sliced", "b"), yaml.safe_dump(PLUGIN_VALUES))


def test_policies_that_differ_name_nothing_without_config_maps(case: Case) -> None:
    assert "factsFromInputs" not in case(pod(), policy("sliced", "a"), policy("mps"))


@pytest.mark.parametrize(
    ("one", "other", "part", "why"),
    [
        (config_map(default=MPS), config_map(default=TIME_SLICING), "devicePlugin", DIFFER),
        (config_map(default=MPS), yaml.safe_dump(PLUGIN_VALUES), "devicePlugin", DIFFER),
        *((policy("sliced", "a"), other, "devicePlugin", "two ClusterPolicies or values differ") for other in CHOICES),
        (node("none"), node("mps"), "nodes", "two of one name differ"),
        (runtime_class("a", "b"), runtime_class("a", "c"), "runtimeClasses", "two of one name differ"),
    ],
)
def test_inputs_that_contradict_each_other_are_not_used(case: Case, one: str, other: str, part: str, why: str) -> None:
    for files in ((one, other), (other, one)):
        report = case(*files, *(MAPS if "ClusterPolicy" in one else ()), pod())
        places = [{"file": f"./{number}.yaml", "line": 1} for number in (0, 1)]
        assert report["factsFromInputs"] == {"refused": [{"part": part, "reason": why, "places": places}]}
        assert report["assumed"]["findings"] == 1


@pytest.mark.parametrize("one", [config_map(default=MPS), node("none"), runtime_class("a", "b")])
def test_inputs_that_agree_are_used(case: Case, one: str) -> None:
    assert said(case(one, one))[1] == []
    assert said(case(one, one.replace("\n", "  # the same\n")))[0] == said(case(one))[0]


def test_contradiction_stays_whatever_follows(case: Case) -> None:
    files = (runtime_class("a", "b"), runtime_class("a", "c"), runtime_class("a", "b"), runtime_class("d", "b"))
    assert said(case(*files)) == ([], ["two of one name differ"])


def test_configurations_of_equal_meaning_do_not_contradict_each_other(case: Case) -> None:
    other = config_map(default=TIME_SLICING.replace("nvidia.com/gpu", "gpu"))
    report = case(pod(), config_map(default=TIME_SLICING), other)
    assert said(report) == (["device plugin: time-slicing"], [])
    assert report["factsFromInputs"]["read"][0]["objects"] == 2


@pytest.mark.parametrize(
    "evidence",
    [config_map(default=TIME_SLICING), node("none"), config_map(default=TIME_SLICING) + "---\n" + node("mps")],
)
def test_neither_order_nor_processes_change_a_verdict(here: Path, evidence: str) -> None:
    (here / "a.yaml").write_text(pod())
    (here / "b.yaml").write_text(evidence)

    def decisions(*arguments: object) -> dict[str, str]:
        results = run("check", *arguments, "-o", "json").json()["results"]
        return {f"{one['file']}:{one['line']}": one["decision"] for one in results}

    expected = decisions("a.yaml", "b.yaml")
    assert decisions("b.yaml", "a.yaml") == expected
    assert decisions("b.yaml", "a.yaml") == expected


# Absence.


@pytest.mark.parametrize(
    "evidence",
    [
        runtime_class("other", "other"),
        node("time-slicing", gpus=1),
        node("time-slicing", pool="elsewhere"),
        text("resource.k8s.io/v1", "DeviceClass", "other", spec={}),
        config_map(default=TIME_SLICING.replace("nvidia.com/gpu", "nvidia.com/mig-1g.5gb")),
        queue("default", "elsewhere"),
    ],
)
@pytest.mark.parametrize(
    "checked",
    [
        pod(1, runtimeClassName="nvidia"),
        pod(1, nodeSelector={"pool": "b"}),
        pod(1, tolerations=[{"key": "a", "operator": "Exists"}]),
        pod(1).replace("nvidia.com/gpu", "nvidia.com/mig-2g.10gb"),
        pod(2).replace("nvidia.com/gpu", "nvidia.com/pgpu"),
    ],
)
def test_what_inputs_lack_is_no_reason_for_a_finding(case: Case, checked: str, evidence: str) -> None:
    assert codes(case(checked, evidence)) == codes(case(checked))


# Options.


@pytest.mark.parametrize(
    ("options", "reported", "is_read"),
    [
        ((), [], True),
        (("--no-facts-from-inputs",), ["GPS001"], False),
        (("--facts", "facts"), ["GPS001"], False),
        (("--config", "settings"), [], True),
        (("--profile", "device-plugin"), ["GPS001"], True),
        (("--profile", "whole-cards"), [], True),
    ],
)
def test_options_and_settings_win_over_inputs(
    case: Case, here: Path, options: tuple[str, ...], reported: list[str], is_read: bool
) -> None:
    (here / "facts").write_text("namespaces: []")
    (here / "settings").write_text("mode: enforce")
    report = case(pod(), config_map(default=TIME_SLICING), node("time-slicing"), options=options)
    assert codes(report) == reported
    assert ("factsFromInputs" in report) is is_read


def test_settings_that_follow_the_plugin_take_its_configuration_from_inputs(case: Case, here: Path) -> None:
    (here / "settings").write_text(
        "limits: {fromDevicePlugin: true}\nfacts: {devicePlugin: {configMaps: [gpu-operator/plugin], version: v0.20.0}}"
    )
    several = MPS.replace("mps: {", "mps: {failRequestsGreaterThanOne: false, ")
    for config, reported in ((several, []), (MPS, ["GPS001"])):
        report = case(pod(), config_map(default=config), options=("--config", "settings"))
        assert codes(report) == reported


@pytest.mark.parametrize(("evidence", "decision"), [((), "warned"), ((config_map(default=MPS),), "denied")])
def test_marker_of_other_scheduler_counts_where_no_input_describes_the_cluster(
    case: Case, evidence: tuple[str, ...], decision: str
) -> None:
    assert case(pod(schedulerName="hami-scheduler"), *evidence)["results"][0]["decision"] == decision


def test_mutate_reads_no_facts_from_inputs(case: Case, here: Path) -> None:
    case(pod(), config_map(default=TIME_SLICING))
    assert run("mutate", "0.yaml", "1.yaml").code == 1


def test_file_that_is_named_in_two_ways_counts_once(case: Case, here: Path) -> None:
    case(pod(), config_map(default=TIME_SLICING))
    report = run("check", "0.yaml", "1.yaml", "./1.yaml", "-o", "json").json()
    assert [one["objects"] for one in report["factsFromInputs"]["read"]] == [1]


# Pods that no longer fit.


@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize(
    ("config", "reported"),
    [
        (TIME_SLICING, []),
        (TIME_SLICING.replace("{resources", "{renameByDefault: true, resources"), ["GPS013"]),
    ],
)
def test_configuration_shows_which_pods_no_longer_fit(
    case: Case, config: str, reported: list[str], is_first: bool
) -> None:
    files = [pod(1), config_map(default=config, other=config)]
    report = case(*(reversed(files) if is_first else files))
    assert codes(report) == reported


# Reports.


def test_reports_say_what_is_read_and_what_is_not(case: Case) -> None:
    files = (
        pod(),
        config_map(default=TIME_SLICING),
        runtime_class("a", "b"),
        runtime_class("a", "c"),
        node("none", "gpu-9"),
    )
    lines = case.run(*files).out.splitlines()
    expected = [
        "facts from inputs: device plugin: time-slicing (./1.yaml:1); 1 node (./4.yaml:1)",
        "not read as facts: runtimeClasses: two of one name differ (./2.yaml:1 and ./3.yaml:1)",
    ]
    assert lines[-3:-1] == expected
    assert case.run(*files, options=("-q",)).out == ""
    (log,) = case.run(*files, options=("-o", "sarif")).json()["runs"]
    notes = log["invocations"][0]["toolExecutionNotifications"]
    assert [(note["level"], note["message"]["text"]) for note in notes] == [("note", line) for line in expected]


def test_report_names_one_place_and_counts_the_others(case: Case) -> None:
    files = [runtime_class(f"class-{number}", "nvidia") for number in range(9)]
    assert "facts from inputs: 9 RuntimeClasses (./0.yaml:1 and 8 more)\n" in case.run(*files).out
    (read,) = case(*files)["factsFromInputs"]["read"]
    assert (read["objects"], len(read["places"])) == (9, 3)


# Bounds.


def test_standard_input_shows_its_cluster(here: Path) -> None:
    stream = f"{pod()}---\n{config_map(default=TIME_SLICING)}"
    report = run("check", "-", "-o", "json", stdin=stream.encode()).json()
    assert [one["decision"] for one in report["results"]] == ["allowed", "skipped", "allowed"]
    assert report["factsFromInputs"]["read"][0]["places"] == [{"file": "<stdin>", "line": 9}]


def test_inputs_beyond_the_bound_show_nothing_and_are_all_checked(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.dryrun.check.MOST_BYTES", 200_000)
    blank = f"{'#' * 127}\n" * 1500
    stream = "---\n".join([pod(), config_map(default=TIME_SLICING), blank, pod(), blank, pod()]).encode()
    report = run("check", "-", "-o", "json", stdin=stream).json()
    assert [one["decision"] for one in report["results"]] == ["denied", "skipped", "allowed", "denied", "denied"]
    assert said(report) == ([], ["the inputs have more than 32 MiB; describe the cluster with --facts"])
    (refused,) = report["factsFromInputs"]["refused"]
    assert "part" not in refused
    assert said(run("check", "-", "--profile", "device-plugin", "-o", "json", stdin=stream).json()) == ([], [])
    plain = "---\n".join([pod(nodeSelector=GKE), blank, blank, pod()]).encode()
    report = run("check", "-", "-o", "json", stdin=plain).json()
    assert "factsFromInputs" not in report
    assert report["assumed"]["profiles"] == [{"profile": "gke", "file": "<stdin>", "line": 5}]


def test_file_that_is_named_twice_counts_once(case: Case, here: Path) -> None:
    case(config_map(default=TIME_SLICING), node("none"))
    named = ("0.yaml", "0.yaml", "1.yaml", "1.yaml")
    read = run("check", *named, "-o", "json").json()["factsFromInputs"]["read"]
    assert [(one["part"], one["objects"]) for one in read] == [("devicePlugin", 1), ("nodes", 1)]


def test_more_objects_than_are_read_are_refused(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.dryrun.evidence.MOST", 3)
    nodes = [node("none", f"gpu-{number}") for number in range(5)]
    assert said(case(pod(), *nodes[:3])) == (["3 nodes"], [])
    assert said(case(pod(), *nodes)) == ([], ["more than 3"])
    assert case(pod(), *nodes)["assumed"]["findings"] == 1


HOSTILE: dict[str, tuple[Callable[[], str], str | None]] = {
    "a huge configuration": (
        lambda: config_map(a=TIME_SLICING, b=f"{MPS}# {'x' * 100_000}"),
        "larger than 65536 bytes",
    ),
    "1,025 configurations": (
        lambda: config_map(**{f"k{number:04}": TIME_SLICING for number in range(1025)}),
        "has more than 1024 configurations",
    ),
    "200 ConfigMaps": (
        lambda: "---\n".join(config_map(f"m{number}", default=TIME_SLICING) for number in range(200)),
        "more than 100 configurations",
    ),
    "deep values": (lambda: "sharing: " + "[" * 50_000, None),
    "deep ConfigMap": (lambda: config_map(default=TIME_SLICING) + "metadata2: " + "{a: " * 900 + "}" * 900, None),
    "aliases": (
        lambda: (
            "kind: Node\napiVersion: v1\nmetadata: {name: &a [x]}\n"
            + "".join(
                f"k{number}: &k{number} [{', '.join([f'*k{number - 1}'] * 9)}]\n" for number in range(1, 9)
            ).replace("*k0", "*a")
        ),
        None,
    ),
    "deep configuration": (lambda: config_map(default="sharing: " + "[" * 10_000), None),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_evidence_is_refused(case: Case, name: str) -> None:
    make, why = HOSTILE[name]
    report = case(pod(), make())
    assert report["results"][0]["decision"] == "denied" or name == "deep ConfigMap"
    assert [re.search(why or "", one) is not None for one in said(report)[1]] == [True] * (why is not None)


@pytest.mark.parametrize(("errors", "is_read"), [(10, True), (300, False)])
def test_input_with_many_errors_ends_early_in_both_passes(here: Path, errors: int, is_read: bool) -> None:
    (here / "all.yaml").write_text("---\n".join(["a: [\n"] * errors + [config_map(default=TIME_SLICING), pod()]))
    report = run("check", "all.yaml", "-o", "json").json()
    assert bool(report["results"]) is is_read
    assert ("factsFromInputs" in report) is is_read
