"""The facts file: missing or null is unknown, empty is known to be empty."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import yaml
from jsonschema import Draft202012Validator

from webhook.diagnostics import InputError
from webhook.policy.placement.facts import UNKNOWN, DevicePlugin, Facts, Namespace, Node, RuntimeClass, Taint
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


def test_empty_list_is_known_to_be_empty(load_facts_text: LoadFacts) -> None:
    empty = load_facts_text("{nodes: [], namespaces: [], runtimeClasses: [], devicePlugin: {}}")
    assert empty == Facts((), (), (), None, DevicePlugin(fail_requests_greater_than_one=True))


def test_empty_document_is_unknown() -> None:
    assert load_facts(None, lambda _: (1, 1), "facts.yaml") == UNKNOWN


WRONG = [
    ("kind: Settings", ['1:7: kind: must be "Facts", not "Settings"']),
    ("node: []", ['1:7: node: unknown key "node"; did you mean "nodes"?']),
    ("nodes: {}", ["1:8: nodes: must be a list, not a mapping; write [] for none"]),
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
    ("namespaces: [{name: a}, {name: a}]", ['1:32: namespaces[1].name: "a" is in the list already; remove one']),
    (
        "devicePlugin: {failRequestsGreaterThanOne: 1}",
        ["1:44: devicePlugin.failRequestsGreaterThanOne: must be true or false, not 1"],
    ),
]


@pytest.mark.parametrize(("text", "problems"), WRONG, ids=[text.partition("\n")[0] for text, _ in WRONG])
def test_all_problems_reported_with_position(load_facts_text: LoadFacts, text: str, problems: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        load_facts_text(text)
    assert [str(one) for one in caught.value.diagnostics] == [f"file.yaml:{problem}" for problem in problems]
