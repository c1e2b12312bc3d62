"""What a file holds besides objects: an error where the file is named, and skipped in a folder."""

from __future__ import annotations

import json

import pytest

from tests import recorded
from webhook.diagnostics import MOST_LISTED, Diagnostic, Unread
from webhook.manifests import Manifest, Reason, Source, objects

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"


def found(text: str, file: str = "a.yaml", *, named: bool = False) -> list[str]:
    """Return the kinds of objects, the reasons and the errors that a file holds."""
    shown: list[str] = []
    for one in objects(Source(file, text.encode(), named)):
        match one:
            case Manifest():
                shown.append(str(one.value["kind"]))
            case Unread():
                shown.append(one.reason)
            case Diagnostic():
                shown.append(str(one))
    return shown


NO_OBJECT = "no `kind` and no `apiVersion`: not a Kubernetes object"
STRANGERS: dict[str, tuple[str, str, str]] = {
    "values": ("a: {b: 1}\n", Reason.OTHER, NO_OBJECT),
    "workflow": ("on: push\njobs: {}\n", Reason.OTHER, NO_OBJECT),
    "compose": ("services: {a: {image: b}}\n", Reason.OTHER, "it looks like a file of Docker Compose"),
    "playbook": ("- hosts: all\n  tasks: []\n", Reason.OTHER, "not a list"),
    "patch": ("- op: add\n  path: /kind\n", Reason.OTHER, "not a list"),
    "text": ("kind\n", Reason.OTHER, "not text"),
    "number of a version": ("apiVersion: 1\ndatasources: []\n", Reason.OTHER, NO_OBJECT),
    "kind of another tool": ("kind: pipeline\ntype: docker\n", Reason.OTHER, NO_OBJECT),
    "kind of a schema": ('{"kind": {"type": "string"}}', Reason.OTHER, NO_OBJECT),
    "our settings with a header": ("apiVersion: gpushare-webhook/v1\nkind: Settings\n", Reason.OURS, "with --config"),
    "our facts with a header": ('{"apiVersion": "gpushare-webhook/v1", "kind": "Facts"}', Reason.OURS, "with --facts"),
    "our report": ('{"apiVersion": "gpushare-webhook/v1", "kind": "CheckReport"}', Reason.OURS, "with --baseline"),
    "chart under another name": ("apiVersion: v2\nname: a\nversion: 1.0.0\n", Reason.CHART, "a Helm chart"),
    "index of charts": ("apiVersion: v1\nentries: {}\ngenerated: now\n", Reason.OTHER, "repository of Helm charts"),
    "template": (
        "kind: {{ .Values.kind }}\n",
        Reason.TEMPLATE,
        "Helm template; pipe `helm template` and name -",
    ),
    "template without Helm": ("kind: {{ kind }}\n", Reason.TEMPLATE, "an unrendered template; render it first"),
    "answer": ('{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}', Reason.REVIEW, "without a request"),
}


def test_stranger_has_position() -> None:
    assert found("\n  a: 1\n", named=True) == [f"a.yaml:2:3: {NO_OBJECT}"]
    assert found("a: 1\nkind: {{ b }}\n", named=True)[0].startswith("a.yaml:2:7: looks like ")


@pytest.mark.parametrize("name", STRANGERS)
def test_stranger(name: str) -> None:
    text, reason, message = STRANGERS[name]
    assert found(text) == [reason]
    (error,) = found(text, named=True)
    assert message in error
    assert error.startswith("a.yaml:")


def test_kustomization_with_header_is_searched() -> None:
    # GPS023 finds amounts in its patches.
    text = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
    assert found(text) == ["Kustomization"]
    assert found(text, "kustomization.yaml", named=True) == ["Kustomization", Reason.KUSTOMIZATION]


def test_stranger_by_file_name() -> None:
    assert found("a: 1", "chart/values.yaml", named=True)[0].endswith(
        "the values of a Helm chart; pipe `helm template` and name -"
    )
    chart = "apiVersion: v2\nname: a\nversion: 1.0.0\n"
    assert found(chart, "c/Chart.yaml", named=True)[0].endswith(
        "describes a Helm chart; pipe `helm template` and name -"
    )
    assert found("resources: []\n", "over/kustomization.yaml", named=True)[0].endswith(
        "pipe `kubectl kustomize over` and name -"
    )
    assert found("resources: []\n", "kustomization.yml", named=True)[0].endswith(
        "pipe `kubectl kustomize .` and name -"
    )
    assert "Helm" in found("a: {{ b }}\n", "c/templates/a.yaml", named=True)[0]


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("apiVersion: v1\nmetadata: {}\n", "1:1: no `kind`: not a Kubernetes object"),
        ("kind: Pod\nmetadata: {}\n", "1:1: no `apiVersion`: not a Kubernetes object"),
        ("kind: Pod\napiVersion:\n", "2:12: no `apiVersion`: not a Kubernetes object"),
        ('apiVersion: v1\nkind: ""\n', "2:7: no `kind`: not a Kubernetes object"),
        ("kind: Pod\n a: 1\n", '2:3: unexpected ":"'),
        ("- {apiVersion: v1, kind: Pod}\n", "1:1: a document must be a mapping with apiVersion and kind, not a list"),
        ("{apiVersion: v1, kind: List, items: [{apiVersion: v1}]}", "1:38: no `kind`: not a Kubernetes object"),
    ],
)
def test_incomplete_object_is_an_error_in_a_folder_too(text: str, message: str, named: bool) -> None:
    (error,) = found(text, named=named)
    assert error.startswith(f"a.yaml:{message}")


def test_stranger_beside_objects_is_an_error() -> None:
    # An object that "---" splits by mistake.
    half = "spec: {containers: []}\n"
    assert found(f"{POD}---\n{half}") == ["Pod", f"a.yaml:5:1: {NO_OBJECT}"]
    assert found(f"{half}---\n{POD}") == ["Pod", f"a.yaml:1:1: {NO_OBJECT}"]


@pytest.mark.parametrize("items", ["[]", "null", "[{apiVersion: v1, kind: Service}]"])
@pytest.mark.parametrize("named", [True, False])
def test_items_of_an_object_do_not_hide_it(items: str, named: bool) -> None:
    """kubectl reads a list and drops the pod; clients that decode one object, such as Argo CD, apply the pod."""
    message = 'kubectl takes a Pod with "items" for a list and drops the rest; remove "items"'
    expected = [f"a.yaml:4:8: {message}", *(["Service"] if "Service" in items else [])]
    assert found(f"{POD}items: {items}\nspec: {{}}\n", named=named) == expected


@pytest.mark.parametrize("kind", ["List", "PodList", "Foo"])
def test_list_without_items_is_no_error(kind: str) -> None:
    assert found(f"apiVersion: v1\nkind: {kind}\nmetadata: {{}}\nitems: []\n") == []
    assert found("apiVersion: v1\nkind: List\nx: &a 1\nitems: []\n") == []


def test_template_beside_objects_is_counted() -> None:
    assert found(f"{POD}---\na: {{{{ b }}}}\n---\n{POD}") == ["Pod", "Pod", Reason.TEMPLATE]


@pytest.mark.parametrize("text", ["", "# kind\n", "# a\n---\n", "\n\n"])
def test_empty_file_is_not_counted(text: str) -> None:
    assert found(text) == found(text, named=True) == []


def test_file_that_cannot_hold_objects_is_not_parsed() -> None:
    assert found("a: [\n") == [Reason.OTHER]
    assert found("a: [\n", named=True)[0].startswith("a.yaml:2:1: ")
    assert found("#" * 100_000 + "\nmode: audit\n") == [Reason.OTHER]
    assert found("kind: [\n")[0].startswith("a.yaml:2:1: ")


@pytest.mark.parametrize(
    "text",
    [
        '{"\\u006bind": "Pod", "\\u0061piVersion": "v1"}',
        '"k\\x69nd": Pod\n"\\x61piVersion": v1\n',
        "!!binary a2luZA==: Pod\n!!binary YXBpVmVyc2lvbg==: v1\n",
    ],
)
def test_escaped_keys_are_read(text: str) -> None:
    assert found(text) == ["Pod"]


def test_utf_16_is_an_error_in_a_folder_too() -> None:
    for encoding in ("utf-16", "utf-16-le"):
        (error,) = objects(Source("a.yaml", "kind: Pod\n".encode(encoding), named=False))
        assert isinstance(error, Diagnostic)


def test_compressed_file() -> None:
    (error,) = objects(Source("chart.tgz", b"\x1f\x8b\x08\x00rest"))
    assert str(error) == "chart.tgz:1:1: a compressed file; unpack it, or pipe `helm template` for a packaged chart"


def test_json_lines() -> None:
    lines = "".join(json.dumps({"apiVersion": "v1", "kind": kind}) + "\n" for kind in ("A", "B", "C"))
    assert found(lines, "a.jsonl") == ["A", "B", "C"]
    assert found('{"a": 1}\n' * 1000, "data.jsonl") == [Reason.OTHER]
    assert found('{"kind": "a"}\n' * 1000, "data.jsonl") == [Reason.OTHER]


def test_strangers_beside_objects_are_counted() -> None:
    data = b'{"a": 1}\n' * 1000 + b'{"apiVersion": "v1", "kind": "A"}\n'
    errors = [one for one in objects(Source("data.jsonl", data, named=False)) if isinstance(one, Diagnostic)]
    assert len(errors) == MOST_LISTED + 1
    assert sum(one.errors for one in errors) == 1000


@pytest.mark.parametrize("name", recorded.names())
@pytest.mark.parametrize("named", [True, False])
def test_recorded_review(name: str, named: bool) -> None:
    body = recorded.body(name)
    request = json.loads(body)["request"]
    (manifest,) = objects(Source("review.json", body, named))
    assert isinstance(manifest, Manifest)
    assert manifest.value == request["object"]
    assert manifest.namespace == request["namespace"]
    position = manifest.locate(("metadata", "uid"))
    assert (
        json.dumps(manifest.value["metadata"]["uid"])
        in body.decode().splitlines()[position.line - 1][position.column - 1 :]
    )


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"operation": "DELETE", "oldObject": {}}, "1:91: a review of DELETE: there is no object to check"),
        ({"operation": "CONNECT", "object": {}}, "1:91: a review of CONNECT: there is no object to check"),
        ({"operation": "CREATE", "object": None}, "1:111: a review without an object: there is nothing to check"),
        ({"operation": "CREATE"}, "1:77: a review without an object: there is nothing to check"),
        ({"operation": "CREATE", "object": []}, "1:111: a review whose object is a list: there is nothing to check"),
        ({}, "1:77: a review of null: there is no object to check"),
        (None, "1:1: a review without a request: there is no object to check"),
    ],
)
def test_review_without_an_object(request_: object, message: str) -> None:
    text = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request_})
    assert found(text) == [Reason.REVIEW]
    assert found(text, named=True) == [f"a.yaml:{message}"]


def test_reviews_in_json_lines() -> None:
    head = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}
    create = {**head, "request": {"operation": "CREATE", "object": {"apiVersion": "v1", "kind": "Pod"}}}
    delete = {**head, "request": {"operation": "DELETE"}}
    assert found("\n".join(map(json.dumps, (create, delete, create)))) == ["Pod", "Pod", Reason.REVIEW]


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        (f"# Source: a/templates/b.yaml\n{POD}", ["a/templates/b.yaml"]),
        (f"---\n# Source: a/templates/b.yaml\n# licence\n\n{POD}---\n{POD}", ["a/templates/b.yaml", ""]),
        (f"# Source: a\n---\n# Source: b\r\n{POD}", ["b"]),
        (f"{POD}# Source: a\n", [""]),
        ('# Source: a\n{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Pod"}]}', ["a"]),
    ],
)
def test_comment_of_helm(text: str, sources: list[str]) -> None:
    manifests = list(objects(Source("-", text.encode())))
    assert [one.source for one in manifests if isinstance(one, Manifest)] == sources
