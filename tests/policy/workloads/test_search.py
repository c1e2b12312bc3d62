"""The search of objects whose kind has no paths: it finds pods wherever they are, and amounts outside them."""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from tests.cases import every_case
from tests.linear import Work, assert_linear
from tests.pointers import exists
from tests.strategies.configurations import EVALUATORS, NAMESPACE, configurations
from tests.strategies.pods import GPU, MIG, SHARED, pods
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.dryrun.search.mentions import GpuNames, find_bare, find_mentions, find_pods
from webhook.patch import pointer
from webhook.policy.context import RequestContext
from webhook.policy.pods.gpu_resources import GpuResources
from webhook.policy.settings.settings import Exempt, Resource, Settings, Workloads
from webhook.policy.verdict import Decision, Finding, Path, Severity, Verdict
from webhook.policy.workloads.kinds import MOST_PODS, Kind
from webhook.policy.workloads.paths import EVERY, REPEATED, Assembly, PathPattern, PodPath, Whole, steps, written
from webhook.policy.workloads.presets import PRESETS
from webhook.settings.load import load

Json = dict[str, Any]

OFFLINE = RequestContext(NAMESPACE)
GROUP = "example.com"
EVALUATOR = OfflineEvaluator.of(Settings())
NAMES = GpuNames(GpuResources((Resource(GPU), Resource(SHARED))))
BARE_CONTAINER: Json = {"name": "c", "image": "i", "resources": {"limits": {"gpu": 2}}}
NAMES_NONE = "it names none of the configured resources"
CONTAINER: Json = {"name": "c", "image": "i", "resources": {"limits": {GPU: 2}}}


def evaluate(
    manifest: Json, evaluator: OfflineEvaluator = EVALUATOR, kind: str = "Unknown", group: str = GROUP
) -> Verdict:
    return evaluator.evaluate(manifest, group, kind, OFFLINE)


def said(findings: tuple[Finding, ...]) -> list[tuple[Any, ...]]:
    """The findings about pods, with a warning at most."""
    return [
        (one.code, min(one.severity, Severity.WARN), one.path, one.message, one.remedy)
        for one in findings
        if one.code != "GPS023"
    ]


STEPS = st.lists(st.sampled_from(["spec", "jobs", "a-b", "roles", "template", 0, 1]), min_size=1, max_size=6)


def placed(held: Any, path: Path) -> Any:
    """A value at a path, with other members in each mapping and nothing else in each list."""
    for step in reversed(path):
        held = [None] * step + [held, None] if isinstance(step, int) else {"replicas": 2, step: held, "note": "x"}
    return held


@given(pods(), STEPS, st.sampled_from(["template", "podSpec"]), configurations)
@example({"spec": {"containers": [CONTAINER]}}, ["jobs", 0], "template", ("steering", "unknown"))
def test_pod_at_any_place_has_the_findings_of_a_known_place(
    pod: Json, inner: list[str | int], holds: Whole, configuration: tuple[str, str]
) -> None:
    pod = {key: value for key, value in pod.items() if key in ("metadata", "spec")}
    for container in pod["spec"]["containers"]:
        container.setdefault("image", "i")
        container.setdefault("env", [])
    path = ("spec", *inner)
    manifest = placed(pod if holds == "template" else pod["spec"], path)
    known = EVALUATORS[configuration]
    place = PodPath(written(tuple(EVERY if isinstance(step, int) else step for step in path)), holds)
    of_path = OfflineEvaluator(known.snapshot, {**known.kinds, (GROUP, "Known"): Kind(GROUP, "Known", (place,))})
    expected = said(evaluate(manifest, of_path, "Known").findings)
    assert said(evaluate(manifest, known).findings) == expected


@given(STEPS)
def test_container_at_any_place_is_found(inner: list[str | int]) -> None:
    path = ("spec", *inner)
    assert [(path, holds) for path, _, holds in find_pods(placed(CONTAINER, path))] == [(path, "container")]


KEYS = st.sampled_from(
    [
        *("spec", "template", "metadata", "containers", "initContainers", "image", "name", "resources", "limits"),
        *("requests", "env", "command", "annotations", "labels", "tolerations", "quantity", "value", "count"),
        *("cpu", "gpu", "gpus", "memory"),
        *(GPU, SHARED, MIG, "apiVersion", "kind", "suspend", "affinity", "volumes", "items"),
    ]
)
TEXTS = ["", "x", "1", GPU, SHARED, f"{GPU}: 2", "${GPUS}", "{{x}}", f'{{"{GPU}": "2"}}', f"limits/{GPU}~1", "a::b\n"]
PODS: list[Json] = [
    CONTAINER,
    {"containers": [CONTAINER]},
    {"containers": [{**CONTAINER, "env": "all"}]},
    {"containers": [CONTAINER], "tolerations": "none"},
    {"spec": {"containers": [CONTAINER, {"name": "d", "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}]}},
]
LEAVES = st.sampled_from([*TEXTS, None, True, 0, 1, 2, -1, 0.5, 10**40, float("inf"), *PODS])
VALUES: st.SearchStrategy[Any] = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6), max_leaves=30
)


@given(st.dictionaries(KEYS, VALUES, max_size=6), st.sampled_from(["Unknown", "RayCluster", "Workflw"]), configurations)
def test_any_object_of_unknown_kind_is_evaluated(manifest: Json, kind: str, configuration: tuple[str, str]) -> None:
    group = {"Workflw": "argoproj.io"}.get(kind, GROUP)
    manifest = {"apiVersion": f"{group}/v1", **manifest, "kind": kind}
    received = deepcopy(manifest)
    verdict = evaluate(manifest, EVALUATORS[configuration], kind, group)
    assert manifest == received
    assert verdict == evaluate(manifest, EVALUATORS[configuration], kind, group)
    assert verdict.decision is not Decision.DENIED
    assert verdict.edits == ()
    for found in verdict.findings:
        assert exists(manifest, pointer(found.path))
        assert found.severity <= Severity.WARN
        assert len(f"{found.code} {found.message}") <= 120
        assert found.message.isprintable()
    assert not verdict.is_skipped or verdict.reason


HELD: dict[str, Json] = {
    "template": {"spec": {"containers": [CONTAINER]}},
    "podSpec": {"containers": [CONTAINER]},
    "container": CONTAINER,
    "resources": {"limits": {GPU: 2}, "requests": {GPU: 2}},
    "step": {"name": "s", "image": "i", "computeResources": {"limits": {GPU: 2}}},
    "trainer": {"resourcesPerNode": {"limits": {GPU: 2}}},
    "spark": {"gpu": {"name": GPU, "quantity": 2}},
}


def requests_of(place: PodPath) -> list[tuple[PathPattern, str]]:
    """The steps to all that may ask for resources at a path of a kind, each with its form."""
    if not isinstance(place.holds, Assembly):
        return [(place.steps, place.holds)]
    return [((*place.steps, *steps(part.path)), part.form) for part in place.holds.parts]


OF_PRESETS = [
    (kind, pattern, form)
    for preset in PRESETS
    for kind in preset.kinds
    for place in kind.paths
    for pattern, form in requests_of(place)
]


@every_case(OF_PRESETS, lambda case: f"{case[0].group} {case[0].kind} {'.'.join(case[1])}")
def test_amount_at_path_of_preset_is_checked_and_not_reported_as_unchecked(case: tuple[Kind, PathPattern, str]) -> None:
    kind, pattern, form = case
    manifest: Any = HELD[form]
    for step in reversed(pattern):
        manifest = [manifest] if step in REPEATED else {step: manifest, "enabled": True}
    verdict = evaluate(manifest, EVALUATOR, kind.kind, kind.group)
    assert not verdict.is_skipped
    assert "GPS001" in {one.code for one in verdict.findings}
    assert "GPS023" not in {one.code for one in verdict.findings}


NOTHING: list[Any] = [0, "0", None, True, "true", "", "many", {}, [], ["1"]]
"""Values that are no amount."""


def mentions(manifest: Json, *covered: Path) -> list[tuple[Path, str]]:
    return [(one.path, one.name) for one in find_mentions(manifest, NAMES, covered)]


@pytest.mark.parametrize(
    "value", [1, 8, "2", "1k", 0.5, -1, "${GPUS}", "{{ .Values.gpus }}", "$(params.gpus)", "$GPUS"]
)
def test_amount_below_name_is_found(value: object) -> None:
    assert mentions({"spec": [{GPU: value}]}) == [(("spec", 0, GPU), GPU)]


@pytest.mark.parametrize("held", [{"min": "2", "max": "8"}, ["1", "2"]])
def test_range_of_amounts_is_found_in_limits_and_requests_only(held: object) -> None:
    for field in ("limits", "requests"):
        (found,) = find_mentions({"spec": {field: {GPU: held}}}, NAMES, ())
        assert (found.path, found.resources) == (("spec", field, GPU), None)
    assert mentions({"spec": {"devices": {GPU: held}}}) == []


@pytest.mark.parametrize("field", ["quantity", "value", "count", "gpu"])
@pytest.mark.parametrize("named_by", ["name", "resource", "resourceName", "gpuType"])
def test_amount_beside_name_is_found(field: str, named_by: str) -> None:
    assert mentions({"a": {named_by: SHARED, field: 2}}) == [(("a", field), SHARED)]
    assert mentions({"a": {named_by: SHARED, field: 0}}) == []


@pytest.mark.parametrize(
    "held",
    [
        *({GPU: value} for value in NOTHING),
        {"limits": {GPU: {}}},
        {"limits": {GPU: []}},
        {"key": GPU, "value": "1"},
        {"name": GPU, "replicas": 4},
        {"name": GPU, "weight": 3},
        {"name": GPU},
        [GPU],
        {"labels": {GPU: "1"}},
        {"annotations": {"note": f"{GPU}: 1"}},
        {"nodeSelector": {GPU: "1"}},
        {"tolerations": [{"key": GPU, "value": "1"}]},
        {"affinity": {"x": {GPU: 1}}},
        {"nvidia.com/gpu.count": 8},
        f"shares {GPU} among pods",
        f"{GPU}: 0",
        f"{GPU}=present:NoSchedule",
        f"{GPU}=1:NoSchedule",
        "nvidia.com/gpu.product: 4",
        "nvidia.com/gpus: 4",
        f"requests.{GPU}: 4",
        f"example.{GPU}: 4",
        f"- name: {GPU}\n  replicas: 4",
        r"--set resources.limits.nvidia\.com/gpu=0",
        r"spec.template.metadata.labels.nvidia\.com/gpu",
        r"spec.containers.0.resources.limits.nvidia\.com/gpus",
        "spec.containers.0.resources.limits.[nvidia.com/gpus]",
        "path: /metadata/labels/nvidia.com~1gpu",
        "path: /spec/limits/nvidia.com~1gpu.product",
        f'kube_resource{{resource="{GPU}"}}',
        "example.com/gpu: 4",
    ],
)
def test_name_without_amount_is_not_found(held: object) -> None:
    assert mentions({"spec": {"held": held}}) == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (f"limits:\n  {GPU}: 2\n", GPU),
        (f'{{"limits": {{"{GPU}": "2"}}}}', GPU),
        (f'{{\\"{GPU}\\": \\"2\\"}}', GPU),
        (f"--limits={GPU}=2,cpu=1", GPU),
        ("--set resources.limits.nvidia\\.com/gpu=1", GPU),
        (f"{GPU}: {{{{ .Values.gpus }}}}", GPU),
        (f"{GPU}: ${{GPUS}}", GPU),
        (f"{SHARED}: 1", SHARED),
        (f"{MIG}: 1", MIG),
        ("path: /spec/containers/0/resources/limits/nvidia.com~1gpu", GPU),
        ("path: /spec/containers/0/resources/requests/nvidia.com~1gpu.shared\nvalue: 2", SHARED),
        (r"spec.template.spec.containers.[name=a].resources.limits.nvidia\.com/gpu", GPU),
        (r"spec.containers.0.resources.requests.nvidia\.com/gpu\.shared", SHARED),
        (r"spec.containers.0.resources.limits.nvidia\.com/mig-1g\.5gb", "nvidia.com/mig-1g"),
        ("spec.containers.0.resources.limits.[nvidia.com/gpu]", GPU),
    ],
)
def test_amount_in_text_is_found(text: str, name: str) -> None:
    assert mentions({"data": {"x": f"first line\n{text}"}}) == [(("data", "x"), name)]


POINTER = "/spec/template/spec/containers/0/resources/limits/nvidia.com~1gpu"


@pytest.mark.parametrize(
    "text",
    [
        f"- op: remove\n  path: {POINTER}\n",
        f"- path: {POINTER}\n  op: remove",
        f"- 'op': 'remove'\n  'path': '{POINTER}'",
        f'[{{"op": "remove", "path": "{POINTER}"}}]',
        f'[{{"path":"{POINTER}","op":"remove"}}]',
        f'{{\n  "op" : "remove",\n  "path" : "{POINTER}"\n}}',
    ],
)
def test_amount_that_patch_in_text_removes_is_not_found(text: str) -> None:
    assert mentions({"patches": [{"patch": text}]}) == []
    added = f"{text}\n- op: add\n  path: {POINTER}\n  value: 2\n"
    assert mentions({"patches": [{"patch": added}]}) == [(("patches", 0, "patch"), GPU)]


@pytest.mark.parametrize(
    "text",
    [
        f"- op: replace\n  path: {POINTER}\n  value: 2",
        f"- op: remove\n  path: /spec/replicas\n- op: add\n  path: {POINTER}\n  value: 2",
        f"- path: {POINTER}\n  value: 2\n  op: add\n- op: remove\n  path: /spec/replicas",
        f"- stop: remove\n  path: {POINTER}",
        f"- op: removed\n  path: {POINTER}",
        f"- op: remove\n  path: /{'a' * 512}{POINTER}",
        f"# op: remove, then add\n- path: {POINTER}",
        "op: remove\nnvidia.com/gpu: 2",
    ],
)
def test_amount_that_patch_in_text_may_set_is_found(text: str) -> None:
    assert mentions({"patches": [{"patch": text}]}) == [(("patches", 0, "patch"), GPU)]


def test_amount_that_patch_removes_is_not_found() -> None:
    assert mentions({"patch": [{"op": "remove", "path": POINTER}]}) == []
    assert mentions({"patch": [{"op": "add", "path": POINTER, "value": 2}]}) == [(("patch", 0, "path"), GPU)]
    assert mentions({"patch": [{"op": "remove", "from": POINTER}]}) == [(("patch", 0, "from"), GPU)]


def test_limit_and_request_count_once() -> None:
    held = {"limits": {GPU: 2, SHARED: 1}, "requests": {GPU: 2}}
    found = list(find_mentions({"spec": {"a": held, "b": held}}, NAMES, ()))
    assert [(one.path, one.resources) for one in found] == [
        (("spec", part, "limits", name), ("spec", part)) for part in "ab" for name in (GPU, SHARED)
    ]


def test_covered_paths_are_left_out() -> None:
    manifest = {"a": [{GPU: 1}, {GPU: 1, "b": {GPU: 1}}]}
    assert mentions(manifest, ("a", 0)) == [(("a", 1, GPU), GPU), (("a", 1, "b", GPU), GPU)]
    assert mentions(manifest, ("a", 1, "b"), ("a", 0), ("a", 0, GPU)) == [(("a", 1, GPU), GPU)]
    assert mentions(manifest, ("a",), ("a", 0)) == []
    assert mentions(manifest, ()) == []


def bare(held: object, *left_out: Path) -> list[Path]:
    return [one.path[1:] for one in find_bare({"spec": held}, left_out)]


@pytest.mark.parametrize("name", ["gpu", "gpus", "gpuCount"])
@pytest.mark.parametrize("value", [1, "4", 0.5, "1k", "$GPUS", "${GPUS}", "{{ .Values.gpus }}"])
def test_bare_amount_is_found(name: str, value: object) -> None:
    assert bare({"cpu": 1, name: value}) == [(name,)]
    assert bare([{name: value, "memory": None}]) == [(0, name)]
    assert bare({"resources": {name: value}}) == [("resources", name)]
    for field in ("limits", "requests"):
        assert bare({"resources": {field: {name: value}}}) == [("resources", field, name)]


@pytest.mark.parametrize(
    "held",
    [
        *({"cpu": 1, "gpu": value} for value in [*NOTHING, -1, float("inf")]),
        *({"gpu": 1}, {"limits": {"gpu": 1}}, {"cpu": {"gpu": 1}}, {"tolerations": {"cpu": 1, "gpu": 1}}, "gpu", None),
    ],
)
def test_bare_name_without_amount_or_elsewhere_is_not_found(held: object) -> None:
    assert bare(held) == []


def test_bare_limit_and_request_count_once() -> None:
    held = {"limits": {"gpu": 1, "gpus": 0}, "requests": {"gpu": 1, "gpus": 2}}
    assert bare({"resources": held}) == [("resources", "limits", "gpu"), ("resources", "requests", "gpus")]


def test_bare_amounts_of_parts_left_out_are_not_found() -> None:
    held = [{"cpu": 1, "gpu": 1}, {"cpu": 1, "gpu": 1}]
    assert bare(held, ("spec", 0)) == [(1, "gpu")]
    assert bare(held, ("spec",), ("spec", 1)) == []


def test_bare_amount_in_metadata_and_status_is_not_found() -> None:
    amounts = {"resources": {"gpu": 1}}
    assert list(find_bare({"metadata": amounts, "status": amounts}, ())) == []


def test_bare_amount_of_object_nested_too_deeply_to_encode_is_found() -> None:
    node: Any = {"cpu": 1, "gpu": 1}
    for _ in range(20_000):
        node = [node]
    assert evaluate({"spec": node}).counts == {("GPS023", Severity.WARN): 1}


@pytest.mark.parametrize(
    "held",
    [
        {"containers": []},
        {"containers": "all"},
        {"containers": {"name": "c", "image": "i"}},
        {"containers": ["c"]},
        {"containers": [{"name": "c"}]},
        {"containers": [{"name": "c", "mode": "Off"}]},
        {"containers": [{"name": "c", "image": "i"}, None]},
        {"image": "i", "resources": {}},
        {"image": {"repository": "r"}, "resources": {"limits": {}}},
        {"resources": {"limits": {GPU: 1}}},
    ],
)
def test_other_structure_is_no_pod(held: Json) -> None:
    assert list(find_pods({"spec": held})) == []


@pytest.mark.parametrize(
    ("manifest", "found"),
    [
        ({"spec": {"containers": [CONTAINER]}}, [(("spec",), "podSpec")]),
        ({"spec": {"t": {"spec": {"containers": [CONTAINER]}}}}, [(("spec", "t"), "template")]),
        ({"spec": {"t": {"metadata": {}, "spec": {"containers": [CONTAINER]}}}}, [(("spec", "t"), "template")]),
        ({"t": {"n": 1, "spec": {"containers": [CONTAINER]}}}, [(("t", "spec"), "podSpec")]),
        (
            {"spec": {"containers": [CONTAINER], "worker": {"containers": [CONTAINER]}}},
            [(("spec",), "podSpec"), (("spec", "worker"), "podSpec")],
        ),
        (
            {"spec": {**CONTAINER, "worker": {"t": {"spec": {"containers": [CONTAINER]}}}}},
            [(("spec",), "container"), (("spec", "worker", "t"), "template")],
        ),
        ({"containers": [CONTAINER]}, [((), "podSpec")]),
    ],
)
def test_form_of_found_pods(manifest: Json, found: list[tuple[Path, Whole]]) -> None:
    assert [(path, holds) for path, _, holds in find_pods(manifest)] == found


def named_entry(text: str) -> Json:
    """The entry of `workloads.paths` that a reason or remedy names."""
    (entry,) = re.findall(r"add (\{.*\}) to workloads\.paths", text)
    parsed: Json = yaml.safe_load(entry)
    return parsed


@pytest.mark.parametrize(
    "spec",
    [
        {"jobs": [{"n": 1, "template": {"spec": {"containers": [CONTAINER]}}}]},
        {"worker": {"containers": [CONTAINER]}},
        {"server": CONTAINER},
        {"engine": {"resources": {"limits": {GPU: 2}}}},
        {"engines": [None, {"resources": {"requests": {GPU: 2}, "limits": {GPU: 2}}}]},
    ],
)
def test_named_entry_of_workload_paths_makes_the_place_known(spec: Json) -> None:
    manifest = {"apiVersion": f"{GROUP}/v1", "kind": "Unknown", "spec": spec}
    verdict = evaluate(manifest)
    assert verdict.decision is Decision.WARNED
    entry = named_entry(verdict.reason or verdict.findings[0].remedy)
    settings = {"apiVersion": "gpushare-webhook/v1", "kind": "Settings", "workloads": {"paths": [entry]}}
    informed = evaluate(manifest, OfflineEvaluator.of(load(settings, lambda _: (1, 1), "settings").settings))
    assert [(one.code, one.severity) for one in informed.findings] == [("GPS001", Severity.DENY)]
    assert informed.reason == ""


@pytest.mark.parametrize("path", [("a.b",), ("a", 0, 0), ("1",), ("ä",), ("x" * 64,)])
def test_place_that_settings_cannot_name_has_another_remedy(path: Path) -> None:
    manifest = {"spec": placed({"resources": {"limits": {GPU: 2}}}, path)}
    (finding,) = evaluate(manifest).findings
    assert finding.remedy == "check the pods that its controller makes of it"


RENDERED = "other objects are rendered from it; check the output of"
OFF = {"GPS023": "off"}


@pytest.mark.parametrize(
    ("group", "kind", "spec", "reason", "settings"),
    [
        (GROUP, "Unknown", {"a": 1}, f"unknown kind; {NAMES_NONE}", {}),
        (GROUP, "Unknown", {"containers": [{"name": "c", "image": "i"}]}, f"unknown kind; {NAMES_NONE}", {}),
        (GROUP, "Unknown", {GPU: 2}, "nothing checks the GPU resource that it names", {"severities": OFF}),
        (GROUP, "Unknown", {"type": GPU}, "unknown kind; it names a GPU resource, and no amount for a pod", {}),
        (GROUP, "Unknown", {"a": "nvidia.com/gpu.product"}, f"unknown kind; {NAMES_NONE}", {}),
        (
            GROUP,
            "Unknown",
            {"a": 'x{r="nvidia.com/gpu"}'},
            "unknown kind; it names a GPU resource, and no amount for a pod",
            {},
        ),
        ("", "ConfigMap", {}, "it requests no GPU resource", {}),
        ("helm.toolkit.fluxcd.io", "HelmRelease", {"values": {"gpu": 1}}, f"{RENDERED} helm template", {}),
        ("argoproj.io", "Application", {}, f"{RENDERED} argocd app manifests APPNAME", {}),
        ("ray.io", "RayCluster", {}, "it requests no GPU resource", {}),
        (
            *("ray.io", "RayCluster", {}, f"the settings leave out the preset kuberay; {NAMES_NONE}"),
            {"workloads": Workloads(presets=())},
        ),
        ("apps", "Deployment", {}, "it holds no pod template", {}),
        ("", "ResourceQuota", {"hard": {"pods": 4}}, "it limits the pods of a namespace and runs no pods", {}),
        ("apps", "Deploymnt", {}, f"unknown kind (did you mean apps/v1 Deployment?); {NAMES_NONE}", {}),
        ("batch", "${KIND}", {}, f"its kind is unknown until the template is rendered; {NAMES_NONE}", {}),
    ],
)
def test_reason_of_skipped_object(group: str, kind: str, spec: Json, reason: str, settings: Json) -> None:
    verdict = evaluate({"spec": spec}, OfflineEvaluator.of(Settings(**settings)), kind, group)
    assert verdict.is_skipped
    assert verdict.reason == f"skipped: {reason}"


@pytest.mark.parametrize(
    "settings", [Settings(severities={"GPS032": "off"}), Settings(exempt=Exempt(namespaces=(NAMESPACE,)))]
)
def test_quota_that_no_check_reads_is_skipped(settings: Settings) -> None:
    assert evaluate({"spec": {"hard": {GPU: 4}}}, OfflineEvaluator.of(settings), "ResourceQuota", "").is_skipped


def test_reason_of_found_pods() -> None:
    one = {**CONTAINER, "resources": {"limits": {GPU: 1}}}
    verdict = evaluate({"spec": {"t": {"spec": {"containers": [one]}}}})
    assert (verdict.decision, verdict.findings, verdict.is_skipped) == (Decision.ALLOWED, (), False)
    assert verdict.reason == (
        "unknown kind: a search found its pods, which the webhook in the cluster does not check; "
        'add {group: example.com, kind: Unknown, path: "spec.t"} to workloads.paths'
    )


def inner(spec: Json, kind: str = "Deployment", version: str = "apps/v1") -> Json:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}


DEPLOYMENT = inner({"template": {"spec": {"containers": [CONTAINER]}}})
CRON_JOB = inner({"jobTemplate": {"spec": {"template": {"spec": {"containers": [CONTAINER]}}}}}, "CronJob", "batch/v1")


def test_reason_of_objects_in_an_object_names_all_their_pods() -> None:
    verdict = evaluate({"spec": {"items": [DEPLOYMENT, CRON_JOB, DEPLOYMENT]}})
    assert [(one.code, one.severity) for one in verdict.findings] == [("GPS001", Severity.WARN)] * 3
    entries = [
        f'{{group: example.com, kind: Unknown, path: "spec.items[*].spec.{path}"}}'
        for path in ("template", "jobTemplate.spec.template")
    ]
    assert verdict.reason == (
        "unknown kind: the webhook checks the objects in it when a controller creates them; "
        f"add {' and '.join(entries)} to workloads.paths to check it before"
    )


@pytest.mark.parametrize(
    ("held", "code"),
    [
        (inner({"template": {"spec": {"containers": {GPU: 2}}}}), "GPS023"),  # not the structure of its kind
        (inner({"x": {"containers": [CONTAINER]}}, "Other", "example.com/v1"), "GPS001"),
        (inner({"a": DEPLOYMENT}, "Other", "example.com/v1"), "GPS001"),
        (inner({"hard": {f"requests.{GPU}": 2}}, "ResourceQuota", "v1"), None),
        ({"apiVersion": "apps/v1", "kind": "Deployment", "name": "x", GPU: 2}, "GPS023"),  # a reference
    ],
)
def test_object_in_an_object_is_read_as_what_it_is(held: Json, code: str | None) -> None:
    found = [one for one in evaluate({"spec": {"held": held}}).findings if one.code != "GPS032"]
    assert [one.code for one in found] == ([code] if code else [])
    assert all(exists({"spec": {"held": held}}, pointer(one.path)) for one in found)


def test_objects_in_each_other_are_bounded() -> None:
    held = DEPLOYMENT
    for _ in range(40):
        held = inner({"held": held}, "Other", "example.com/v1")
    (finding,) = evaluate({"spec": held}).findings
    assert finding.code == "GPS023"


def test_exempt_found_pod_has_no_finding() -> None:
    windows = {"os": {"name": "windows"}, "containers": [CONTAINER]}
    verdict = evaluate({"spec": {"worker": windows}})
    assert (verdict.findings, verdict.reason) == ((), "exempt: the pod runs on Windows")


def test_hooks_do_not_search() -> None:
    origin = RequestContext(NAMESPACE, is_final_hook=True, groups=())
    verdict = EVALUATOR.evaluate({"spec": {"containers": [CONTAINER], GPU: 2}}, GROUP, "Unknown", origin)
    assert (verdict.findings, verdict.reason) == ((), "")


def test_pods_beyond_the_limit_are_reported_as_amounts() -> None:
    pod = {"n": 1, "spec": {"containers": [{**CONTAINER, "resources": {"limits": {GPU: 1}}}]}}
    verdict = evaluate({"spec": [pod] * (MOST_PODS + 3)})
    assert verdict.counts == {("GPS023", Severity.WARN): 3}


def nested(depth: int) -> Json:
    node: Any = {GPU: 1}
    for _ in range(depth):
        node = {"a": [node]}
    return {"spec": node}


SHAPES: dict[str, Callable[[int], Any]] = {
    "list of amounts": lambda n: [{GPU: 1}] * n,
    "list of resources": lambda n: [{"limits": {GPU: 1}, "requests": {GPU: 1}}] * n,
    "mapping of amounts": lambda n: {f"{MIG}{index}": 1 for index in range(n)},
    "mapping of names": lambda n: {f"k{index}": GPU for index in range(n)},
    "list of pods": lambda n: [{"spec": {"containers": [CONTAINER]}}] * n,
    "list of containers": lambda n: [CONTAINER] * n,
    "one pod of containers": lambda n: {"containers": [CONTAINER] * n},
    "containers of no pod": lambda n: {"containers": [{"name": "c", "a": {"b": 1}}] * n},
    "text of names": lambda n: f"{GPU} " * n,
    "text of names in quotes": lambda n: f"{GPU}\"\\'" * n,
    "text of MIG names": lambda n: "nvidia.com/mig-" * n,
    "text of pointers": lambda n: "limits/nvidia.com~1" * n,
    "text of blanks": lambda n: GPU + " " * n + GPU + ":" * n,
    "texts": lambda n: [f"{GPU}: 1"] * n,
    "objects": lambda n: [DEPLOYMENT] * n,
    "objects in each other": lambda n: inner({"a": inner({"b": [DEPLOYMENT] * n}, "Other", "e/v1")}, "Other", "e/v1"),
    "bare amounts": lambda n: [{"cpu": 1, "gpu": 1}] * n,
    "bare words": lambda n: ["gpu"] * n,
    "containers with bare amounts": lambda n: {"containers": [BARE_CONTAINER] * n},
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_search_time_is_linear_in_size(shape: str) -> None:
    def prepared(size: int) -> Work:
        manifest = {"spec": {"held": SHAPES[shape](size)}}
        return lambda: evaluate(manifest)

    assert_linear(prepared, 64, 100_000)


@pytest.mark.slow
def test_search_time_is_linear_in_depth() -> None:
    def prepared(size: int) -> Work:
        manifest = nested(size)
        return lambda: evaluate(manifest)

    assert_linear(prepared, 1_000, 50_000)


def test_search_of_deep_object_does_not_recurse() -> None:
    (finding,) = evaluate(nested(20_000)).findings
    assert len(finding.path) == 40_002
