"""The device plugin's configurations in ConfigMaps of requests: findings, severities, updates and bounds."""

from __future__ import annotations

import json
from collections.abc import Callable
from time import thread_time
from typing import Any

import pytest

from tests.linear import assert_linear
from webhook.admission import BadReviewError, Hook, respond
from webhook.admission.respond import CHARACTERS, MOST_VALUES
from webhook.policy.evaluate import Evaluator
from webhook.policy.settings.elements import NamespaceRule
from webhook.policy.settings.settings import Settings
from webhook.policy.verdict import MESSAGE_LIMIT

Json = dict[str, Any]

GOOD = "version: v1\nsharing:\n  mps:\n    resources:\n    - name: nvidia.com/gpu\n      replicas: 4\n"
REFUSED = GOOD.replace("replicas: 4", "replicas: 1")
WITHOUT_EFFECT = GOOD.replace("replicas: 4", "replicas: 64")
BROKEN = "sharing:\n  mps: a: b\n"

BY_DEFAULT = Evaluator.of(Settings())
DENYING = Evaluator.of(Settings(severities={"GPS030": "deny"}))

NAMED = '"a", sharing.mps.resources[0].replicas: the device plugin refuses this: must be at least 2, not 1'


def review(data: object, before: object = None, operation: str = "CREATE", **request: Any) -> bytes:
    """The review of a ConfigMap with these texts; `before` are those that it had."""
    kind = {"group": "", "version": "v1", "kind": "ConfigMap"}
    metadata = {"namespace": "nvidia-device-plugin", "name": "plugin-configs"}
    asked = {
        "uid": "1",
        "kind": kind,
        "operation": operation,
        "namespace": "nvidia-device-plugin",
        "object": {"metadata": metadata, "data": data},
        "oldObject": {"metadata": metadata, "data": before} if operation == "UPDATE" else None,
        **request,
    }
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}).encode()


def response(body: bytes, evaluator: Evaluator = BY_DEFAULT, hook: Hook = Hook.VALIDATE) -> Json:
    answered: Json = json.loads(respond(body, hook, evaluator).body())["response"]
    return answered


def findings(body: bytes, evaluator: Evaluator = BY_DEFAULT) -> list[tuple[str, str, str]]:
    """The code, the severity and the key of each finding."""
    verdict = respond(body, Hook.VALIDATE, evaluator).verdict
    assert {finding.path[:-1] for finding in verdict.findings} <= {("data",)}
    return [(finding.code, finding.severity.label, str(finding.path[-1])) for finding in verdict.findings]


def test_refused_configuration_is_warned_about_by_default() -> None:
    answered = response(review({"a": REFUSED, "b": GOOD}))
    assert answered["allowed"] is True
    assert answered["warnings"] == [f"GPS030 {NAMED}"]
    assert answered["auditAnnotations"] == {"findings": "GPS030=warn"}


def test_refused_configuration_is_denied_with_severities() -> None:
    answered = response(review({"a": REFUSED}), DENYING)
    assert answered["allowed"] is False
    assert answered["status"]["message"].startswith(f"GPS030 {NAMED}; ")
    (cause,) = answered["status"]["details"]["causes"]
    assert cause == {"reason": "GPS030", "message": NAMED, "field": "data.a"}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (Settings(severities={"GPS030": "audit"}), [("GPS030", "audit", "a")]),
        (Settings(severities={"GPS030": "off"}), []),
        (Settings(mode="audit", severities={"GPS030": "deny"}), [("GPS030", "audit", "a")]),
        (Settings(severities={"GPS001": "deny"}), [("GPS030", "warn", "a")]),
        (
            Settings(namespaces=(NamespaceRule(names=("nvidia-device-plugin",), severities={"GPS030": "deny"}),)),
            [("GPS030", "warn", "a")],
        ),
    ],
    ids=["audit", "off", "mode", "another code", "namespace"],
)
def test_severity_follows_settings_of_cluster(settings: Settings, expected: list[tuple[str, str, str]]) -> None:
    assert findings(review({"a": REFUSED}), Evaluator.of(settings)) == expected


def test_part_without_effect_is_found_at_its_key() -> None:
    assert findings(review({"a": WITHOUT_EFFECT})) == [("GPS031", "warn", "a")]
    denying = Evaluator.of(Settings(severities={"GPS031": "deny"}))
    assert findings(review({"a": WITHOUT_EFFECT}), denying) == [("GPS031", "deny", "a")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BROKEN, 'line 2: unexpected ":"; put text that holds ": " in quotes'),
        (f"version: v1\n{GOOD}", 'line 2: mapping key "version" is given twice, first on line 1'),
        ("nothing: of this: x", 'line 1: unexpected ":"; put text that holds ": " in quotes'),
    ],
    ids=["sharing", "key twice", "no sharing"],
)
def test_text_that_cannot_be_read_is_never_denied(text: str, message: str) -> None:
    answered = response(review({"a": text}), DENYING)
    (warning,) = answered["warnings"]
    assert warning.startswith(f'GPS030 "a": cannot be read, {message}')
    assert answered["allowed"] is True


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("version: v2", 'version: the device plugin refuses this: must be v1, not "v2"'),
        ("version: v1beta1\nflags: {migStrategy: mixd}", "version: the device plugin refuses this: must be v1, not"),
        ("version: v1\nflags: {migStrategy: mixd}", "flags.migStrategy: the device plugin refuses this: must be none"),
        ("version: v1\nsharing: []", "sharing: the device plugin refuses this: must be a mapping, not a list"),
        ("sharing: time-slicing", "sharing: the device plugin refuses this: must be a mapping, not text"),
        ("mps", "the device plugin refuses this: must be a mapping, not text"),
        ("[mps]", "the device plugin refuses this: must be a mapping, not a list"),
    ],
)
def test_every_text_is_a_configuration(text: str, problem: str) -> None:
    answered = response(review({"a": text}), DENYING)
    assert answered["allowed"] is False
    separator = ", " if not problem.startswith("the ") else ": "
    assert answered["status"]["message"].startswith(f'GPS030 "a"{separator}{problem}')


@pytest.mark.parametrize(
    "text",
    [
        "sharing: {timeSlice: {resources: [{name: nvidia.com/gpu, replicas: 1}]}}",
        f"apiVersion: v1\n{GOOD.partition(chr(10))[2]}",
        "mps: 1",
    ],
)
def test_field_that_the_plugin_ignores_is_found_in_every_text(text: str) -> None:
    assert findings(review({"a": text})) == [("GPS031", "warn", "a")]


def test_only_the_first_document_of_a_text_counts() -> None:
    assert findings(review({"a": f"{GOOD}---\n{REFUSED}", "b": f"{REFUSED}---\n{GOOD}"})) == [("GPS030", "warn", "b")]


@pytest.mark.parametrize("text", ["", "# mps", "{}", "version: v1", 7, None])
def test_text_that_sets_nothing_is_left_alone(text: object) -> None:
    assert findings(review({"a": text})) == []


@pytest.mark.parametrize("data", [None, {}])
def test_config_map_without_texts_is_left_alone(data: object) -> None:
    assert findings(review(data)) == []


def test_update_is_checked_where_it_changes_texts() -> None:
    before = {"old": REFUSED, "fixed": REFUSED, "spoilt": GOOD, "gone": REFUSED}
    after = {"old": REFUSED, "fixed": GOOD, "spoilt": REFUSED, "new": REFUSED}
    assert findings(review(after, before, "UPDATE")) == [("GPS030", "warn", "spoilt"), ("GPS030", "warn", "new")]
    assert findings(review(after, None, "UPDATE"), DENYING) == [
        ("GPS030", "deny", key) for key in after if key != "fixed"
    ]


@pytest.mark.parametrize(
    ("hook", "request_"),
    [
        (Hook.MUTATE, {}),
        (Hook.VALIDATE, {"operation": "DELETE", "object": None}),
        (Hook.VALIDATE, {"subResource": "status"}),
        (Hook.VALIDATE, {"kind": {"group": "example.com", "version": "v1", "kind": "ConfigMap"}}),
        (Hook.VALIDATE, {"kind": {"group": "", "version": "v1", "kind": "Secret"}}),
    ],
    ids=["mutating hook", "delete", "subresource", "another group", "secret"],
)
def test_other_requests_pass(hook: Hook, request_: Json) -> None:
    answered = response(review({"a": REFUSED}, **request_), DENYING, hook)
    assert answered == {"uid": "1", "allowed": True}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (review([]), "the object is malformed at /data: expected a mapping, found a list"),
        (review({}, [], "UPDATE"), "the object is malformed at /data: expected a mapping, found a list"),
        (review({}, object=None), "the request to CREATE has no object"),
        (review({}, operation="UPDATE", oldObject=None), "the request to UPDATE has no oldObject"),
    ],
    ids=["list", "list before", "no object", "no object before"],
)
def test_malformed_config_map_is_refused(body: bytes, message: str) -> None:
    with pytest.raises(BadReviewError) as refused:
        respond(body, Hook.VALIDATE, BY_DEFAULT)
    assert str(refused.value) == message


def test_message_with_long_key_and_path_fits() -> None:
    key = "k" * 253
    unknown = {"x" * 300: 1, "sharing": {"mps": {"resources": [{"name": "nvidia.com/gpu", "replicas": 4}]}}}
    (warning,) = response(review({key: json.dumps(unknown)}))["warnings"]
    assert len(warning) <= MESSAGE_LIMIT + len("GPS031 ")
    assert warning.startswith(f'GPS031 "{key[:12]}…')
    assert warning.endswith("ignores it")


TOO_LARGE = "this text and those after it are too large to check"


def flow(size: int) -> str:
    """A configuration of a number of values."""
    return f"sharing: {{mps: }}\nx: [{'1,' * size}]"


@pytest.mark.parametrize(
    "data",
    [
        {"big": "mps: " + "x" * CHARACTERS, "a": REFUSED},
        {**{f"k{number}": f"# {number}" for number in range(CHARACTERS // 64)}, "a": REFUSED},
        {"big": flow(MOST_VALUES), "a": REFUSED},
        {**{f"k{number}": flow(MOST_VALUES // 8) for number in range(8)}, "a": REFUSED},
        {"big": f"x: &x [{'1,' * 500}]\nsharing: {{mps: }}\ny: [{'*x,' * 20}]", "a": REFUSED},
    ],
    ids=["text", "texts", "values", "values of texts", "aliases"],
)
def test_large_texts_are_not_read_and_never_denied(data: Json) -> None:
    evaluator = Evaluator.of(Settings(severities={"GPS030": "deny", "GPS031": "off"}))
    (finding,) = respond(review(data), Hook.VALIDATE, evaluator).verdict.findings
    assert (finding.code, finding.severity.label) == ("GPS030", "warn")
    assert finding.message == f'"{finding.path[-1]}": {TOO_LARGE}'


def test_usual_texts_are_all_read() -> None:
    """A hundred configurations of the length of NVIDIA's examples."""
    assert findings(review({**{f"k{number}": GOOD for number in range(100)}, "a": REFUSED})) == [
        ("GPS030", "warn", "a")
    ]


HOSTILE: dict[str, Callable[[int], Json]] = {
    "keys": lambda size: {f"k{number}": "mps" for number in range(size)},
    "broken texts": lambda size: {f"k{number}": "mps: a: b" for number in range(size)},
    "one text": lambda size: {"a": "sharing: " + "x" * (32 * size)},
    "flow": lambda size: {"a": flow(8 * size)},
    "unknown fields": lambda size: {"a": "sharing: {mps: }\n" + "".join(f"k{number}:\n" for number in range(size))},
    "aliases": lambda size: {"a": f"x: &x [{'1,' * size}]\nsharing: {{mps: }}\ny: [{'*x,' * size}]"},
    "merges": lambda size: {
        "a": f"x: &x {{{','.join(f'k{number}: 1' for number in range(size))}}}\nmps: [{'{<<: *x},' * size}]"
    },
    "nested": lambda size: {"a": "mps: " + "[" * (8 * size)},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_config_map_takes_linear_time(name: str) -> None:
    def prepared(size: int) -> Callable[[], object]:
        body = review(HOSTILE[name](size))
        return lambda: respond(body, Hook.VALIDATE, BY_DEFAULT)

    assert_linear(prepared, 64, 16_384)


@pytest.mark.parametrize("name", HOSTILE)
def test_time_for_texts_is_bounded(name: str) -> None:
    """Whatever the texts hold, reading and checking them takes less than a large review does."""
    body = review(HOSTILE[name](4096))
    best = 9.0
    for _ in range(3):
        start = thread_time()
        respond(body, Hook.VALIDATE, BY_DEFAULT)
        best = min(best, thread_time() - start)
    assert best < 0.3
