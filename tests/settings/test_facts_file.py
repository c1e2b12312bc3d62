"""The facts file: missing or null is unknown, empty is known to be empty."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import yaml
from jsonschema import Draft202012Validator

from webhook.diagnostics import InputError
from webhook.policy.placement.cluster_objects import (
    DeviceClass,
    DevicePlugin,
    Namespace,
    Node,
    PluginConfig,
    Replicas,
    RuntimeClass,
    Taint,
)
from webhook.policy.placement.facts import UNKNOWN, Facts
from webhook.policy.settings.elements import LabelSelector, NamespaceRule
from webhook.policy.settings.settings import Exempt, Settings
from webhook.report.data import yaml_text
from webhook.settings.facts_file import portable, spelled_out
from webhook.settings.load import load_facts
from webhook.settings.schema import facts_schema

LoadFacts = Callable[[str], Facts]

ALL = """\
apiVersion: gpushare-webhook/v1
kind: Facts
nodes:
  - name: gpu-1
    labels: {nvidia.com/mps.capable: "true"}
    taints:
      - {key: nvidia.com/gpu, value: present, effect: NoSchedule}
      - {key: sku, effect: NoExecute}
    resources: {nvidia.com/gpu: 10}
  - {name: cpu-1}
namespaces: [{name: team-a, labels: {team: a}}, {name: team-b}]
runtimeClasses: [{name: nvidia, handler: nvidia-cdi, nodeSelector: {gpu: "true"}}]
devicePlugin: {failRequestsGreaterThanOne: false}
"""


def test_every_part_loads(load_facts_text: LoadFacts) -> None:
    taints = (Taint("nvidia.com/gpu", "NoSchedule", "present"), Taint("sku", "NoExecute"))
    assert load_facts_text(ALL) == Facts(
        nodes=(Node("gpu-1", {"nvidia.com/mps.capable": "true"}, taints, {"nvidia.com/gpu": 10}), Node("cpu-1")),
        namespaces=(Namespace("team-a", {"team": "a"}), Namespace("team-b")),
        runtime_classes=(RuntimeClass("nvidia", "nvidia-cdi", {"gpu": "true"}),),
        device_plugin=DevicePlugin(fail_requests_greater_than_one=False),
    )
    assert Draft202012Validator(facts_schema()).is_valid(yaml.safe_load(ALL))


@pytest.mark.parametrize("text", ["", "{}", "kind: Facts", "nodes: null\nnamespaces:\nruntimeClasses:\ndevicePlugin:"])
def test_missing_or_null_part_is_unknown(load_facts_text: LoadFacts, text: str) -> None:
    assert load_facts_text(text) == UNKNOWN


WRONG = [
    ("kind: Settings", ['1:7: kind: must be "Facts", not "Settings"']),
    (
        'nodes:\n  - {labels: {a: 1}}\n  - {name: b, resources: {nvidia.com/gpu: "10", cpu: -1}}',
        [
            "2:5: nodes[0].name: is missing",
            "2:18: nodes[0].labels.a: must be text, not 1; put it in quotes",
            '3:43: nodes[1].resources["nvidia.com/gpu"]: must be a whole number from 0 to 9223372036854775807, '
            'not "10"; leave out the quotes',
            "3:54: nodes[1].resources.cpu: must be a whole number from 0 to 9223372036854775807, not -1",
        ],
    ),
    (
        "nodes: [{name: a, taints: [{key: k, effect: None}, {key: '', effect: NoSchedule}]}]",
        [
            '1:45: nodes[0].taints[0].effect: must be "NoSchedule", "PreferNoSchedule" or "NoExecute", not "None"',
            '1:58: nodes[0].taints[1].key: must be text that is not empty, not ""',
        ],
    ),
    (
        "nodes: [{name: a, incomplete: [annotations]}]",
        ['1:32: nodes[0].incomplete[0]: must be "labels", "taints" or "resources", not "annotations"'],
    ),
]


@pytest.mark.parametrize(("text", "problems"), WRONG, ids=[text.partition("\n")[0] for text, _ in WRONG])
def test_all_problems_reported_with_position(load_facts_text: LoadFacts, text: str, problems: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        load_facts_text(text)
    assert [str(one) for one in caught.value.diagnostics] == [f"file.yaml:{problem}" for problem in problems]


CLUSTER = Facts(
    nodes=(
        Node("b", {"z": "1", "a": "2", "nvidia.com/gfd.timestamp": "1790000000"}, (), {"nvidia.com/gpu": 4, "a/b": 1}),
        Node("a", {}, (Taint("k", "NoSchedule"), Taint("a", "NoExecute", "v")), {}, ("labels", "taints")),
    ),
    namespaces=(
        Namespace(
            "team-b",
            {
                "team": "b",
                "owner": "jane.doe",
                "pod-security.kubernetes.io/enforce": "baseline",
                "example.com/off": "x",
            },
        ),
        Namespace("team-a", {"owner": "jane.doe"}),
    ),
    runtime_classes=(RuntimeClass("nvidia", "nvidia", {"b": "1", "a": "2"}), RuntimeClass("kata")),
    device_classes=(DeviceClass("gpu.nvidia.com", "nvidia.com/gpu"), DeviceClass("a")),
    device_plugin=DevicePlugin(
        version="0.20.0",
        configs=(
            PluginConfig("mps-10", "mps", None, (Replicas("nvidia.com/gpu", 10), Replicas("a/b", 2))),
            PluginConfig("all"),
        ),
    ),
)

WRITTEN = """\
apiVersion: gpushare-webhook/v1
kind: Facts
nodes:
- name: a
  taints:
  - key: a
    effect: NoExecute
    value: v
  - key: k
    effect: NoSchedule
  incomplete:
  - labels
  - taints
- name: b
  labels:
    a: '2'
    z: '1'
  resources:
    a/b: 1
    nvidia.com/gpu: 4
namespaces:
- name: team-a
- name: team-b
  labels:
    example.com/off: x
    pod-security.kubernetes.io/enforce: baseline
    team: b
runtimeClasses:
- name: kata
- name: nvidia
  handler: nvidia
  nodeSelector:
    a: '2'
    b: '1'
deviceClasses:
- name: a
- name: gpu.nvidia.com
  extendedResourceName: nvidia.com/gpu
devicePlugin:
  version: 0.20.0
  configs:
  - name: all
  - name: mps-10
    strategy: mps
    resources:
    - name: a/b
      replicas: 2
    - name: nvidia.com/gpu
      replicas: 10
"""

NAMING = Settings(
    namespaces=(NamespaceRule(selector=LabelSelector({"team": "b"})),), exempt=Exempt(label="example.com/off=yes")
)
"""Settings that name two labels of namespaces."""


def test_portable_facts_are_sorted_and_keep_what_settings_name(load_facts_text: LoadFacts) -> None:
    kept = portable(CLUSTER, NAMING)
    assert yaml_text(spelled_out(kept)) == WRITTEN
    assert load_facts_text(WRITTEN) == kept


def test_portable_facts_keep_pod_security_labels_only_without_names() -> None:
    labels = [one.labels for one in portable(CLUSTER, Settings()).namespaces or ()]
    assert labels == [{}, {"pod-security.kubernetes.io/enforce": "baseline"}]


@pytest.mark.parametrize(
    ("facts", "written"),
    [
        (UNKNOWN, {}),
        (Facts(nodes=(), namespaces=()), {"nodes": [], "namespaces": []}),
        (Facts(device_plugin=DevicePlugin()), {"devicePlugin": {}}),
        (Facts(device_plugin=DevicePlugin(configs=())), {"devicePlugin": {"configs": []}}),
    ],
    ids=["unknown", "empty lists", "plugin", "plugin without configurations"],
)
def test_file_tells_unknown_from_empty(facts: Facts, written: dict[str, object]) -> None:
    spelled = spelled_out(portable(facts, Settings()))
    assert spelled == {"apiVersion": "gpushare-webhook/v1", "kind": "Facts", **written}
    assert load_facts(spelled, lambda _: (1, 1), "facts.yaml") == facts
