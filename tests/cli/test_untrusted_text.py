"""Text of users in the output starts no line, moves no cursor, and sends no command to a CI system."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.run import Ended, run
from tests.report.safety import assert_safe_lines, assert_safe_report
from webhook.report.check import CheckFormat

# A line break, a command of GitHub Actions in both notations, an escape sequence, a control character of C1, a line
# separator, a change of writing direction, and a carriage return.
HOSTILE = (
    "::error file=x::y\n::error::z\n  ::warning::w\x1b[31m\x9b31m\u2028\u202e##[error]\r::stop-commands::t\x7f\x07"
)
BEGINNINGS = ["::error file=x::y", "  ::error::y", "##[error]y", "##vso[task.complete]y", ":", ": ::x", HOSTILE]


def assert_safe(ended: Ended) -> None:
    """Check that all lines are printable, none is a command for a CI system, and no internal error occurred."""
    assert ended.code in (0, 1, 2)
    assert_safe_lines(ended.out + "\n" + ended.err)


def assert_safe_output(ended: Ended, command: str, output: str) -> None:
    """Check the output of a command in a format. The format for GitHub consists of commands."""
    if command != "check":
        assert_safe(ended)
        return
    assert_safe_report(ended.out, CheckFormat(output))
    assert_safe(Ended(ended.code, "", ended.err))


def pod(text: str, gpus: object = 1) -> dict[str, Any]:
    """Return a pod with the text in every place that takes one. With two GPUs it is denied."""
    container = {
        "name": text,
        "image": text,
        "command": [text],
        text: text,
        "env": [
            {"name": text, "value": text},
            {"name": "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "value": text},
            {"name": "NVIDIA_VISIBLE_DEVICES", "value": text},
        ],
        "volumeMounts": [{"name": text, "mountPath": text}, {"name": text, "mountPath": f"/mps/{text}"}],
        "resources": {"limits": {"nvidia.com/gpu": gpus, text: 1, f"nvidia.com/{text}": text, "nvidia.com/gpus": 1}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": text,
            "namespace": text,
            "labels": {text: text},
            "annotations": {text: text, f"gpushare-webhook/{text}": text, "gpushare-webhook/client-priority": text},
        },
        "spec": {
            "runtimeClassName": text,
            "nodeSelector": {text: text, "nvidia.com/gpu.product": text},
            "hostUsers": False,
            "containers": [container],
            "volumes": [{"name": text, "emptyDir": {}}, {"name": "gpushare-mps-nvidia-com-gpu", text: text}],
        },
    }


def edited(text: str) -> dict[str, Any]:
    """Return a pod with the text that gets edits."""
    container = {"name": text, text: text, "args": [text], "resources": {"limits": {"nvidia.com/gpu": 1}}}
    metadata = {"name": text, "namespace": text, "labels": {text: text}, "annotations": {text: text}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, text: text, "spec": {"containers": [container]}}


def objects(text: str) -> Iterator[Any]:
    """Yield objects with the text that are edited, denied, malformed and unreadable."""
    yield edited(text)
    yield pod(text)
    yield pod(text, gpus=2)
    yield pod(text, gpus=text)
    yield pod(text) | {"kind": text}
    yield pod(text) | {"apiVersion": text}
    yield {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": text}, "spec": {"template": pod(text)}}
    yield pod(text) | {"spec": {"containers": {text: text}}}
    yield {"apiVersion": "v1", "kind": "List", "items": [pod(text, gpus=2), text, {text: text}]}
    yield {"apiVersion": "x/v1", "kind": "Custom", "metadata": {"name": text}, "spec": {text: {text: text}}}
    yield {"apiVersion": "x/v1", "kind": "Table", "metadata": {"name": text}, "spec": {text: pod(text, gpus=2)["spec"]}}


SETTINGS = "workloads: {paths: [{group: x, kind: Table, path: spec.*, holds: podSpec}]}\n"


@pytest.fixture
def files(here: Path) -> list[str]:
    """Return files of such objects with hostile names, and files that cannot be read."""
    made = []
    for number, text in enumerate(BEGINNINGS):
        folder = here / f"{number}"
        folder.mkdir()
        for index, value in enumerate(objects(text)):
            (folder / f"{index}.json").write_text(json.dumps(value))
        (folder / "edited.yaml").write_text(yaml.safe_dump(edited(text)))  # no other style is edited
        (folder / "twice.json").write_text(json.dumps({text: 1})[:-1] + "," + json.dumps({text: 2})[1:])
        (folder / "broken.yaml").write_text(f"a: {text}\n--- {text}\n *{text}\n", newline="")
        made.append(str(folder))
    for number, text in enumerate(BEGINNINGS):
        name = text.replace("/", " ")
        for suffix, content in (
            ("", json.dumps(pod(text, gpus=2))),
            (".yaml", "a: ["),
            ("-empty", ""),
            ("-more", json.dumps(pod(f"p{number}"))),
        ):
            Path(name + suffix).write_text(content)
            made.append(name + suffix)
    unreadable = os.fsdecode(b"\xff\x1b\n::error::.yaml")
    Path(unreadable).write_text(json.dumps(pod(unreadable.encode(errors="replace").decode(), gpus=2)))
    return [*made, unreadable, f"missing {HOSTILE}"]


FORMATS = [
    *(("check", one.value) for one in CheckFormat),
    *(("mutate", output) for output in ("yaml", "json", "patch", "diff")),
]


@pytest.mark.parametrize(("command", "output"), FORMATS)
def test_hostile_manifests_and_file_names(here: Path, files: list[str], command: str, output: str) -> None:
    (here / "settings.yaml").write_text(SETTINGS)
    ended = run(command, "--config", "settings.yaml", "-o", output, *(word for file in files for word in ("-f", file)))
    assert_safe_output(ended, command, output)
    assert ended.code == 2
    assert len(ended.out) > 1000
    assert len(ended.err) > 1000
    if output in ("json", "patch"):
        assert HOSTILE in set(texts(ended.json()))
    if output == "yaml":
        assert HOSTILE in set(texts(list(yaml.load_all(ended.out, yaml.CSafeLoader))))


def texts(value: Any) -> Iterator[str]:
    """Yield all texts of a JSON value."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize(("command", "output"), FORMATS)
@pytest.mark.parametrize("text", BEGINNINGS)
def test_single_hostile_object(here: Path, command: str, output: str, text: str) -> None:
    # The code for a single object differs from the code for several.
    ended = run(command, "-f", "-", "-o", output, stdin=yaml.safe_dump(edited(text)).encode())
    assert_safe_output(ended, command, output)
    if output == "diff" and ("##[" in text.replace("vso", "") or text.startswith("::error file=x::y")):
        # The lines of a diff are those of the file: no escape could make them safe.
        assert re.match(r"<stdin>:\d+:1: no diff here: a CI system would read this line as a command; ", ended.err)
        assert (ended.code, ended.out) == (2, "")
    else:
        assert ended.out
        assert ended.code == 0


WRONG_VALUES: list[Any] = [
    HOSTILE,
    {HOSTILE: 1},
    {"mode": HOSTILE},
    {"apiVersion": HOSTILE, "kind": HOSTILE},
    *({key: {HOSTILE: HOSTILE}} for key in ("severities", "limits")),
    {"placement": {"mpsLabels": {HOSTILE: HOSTILE}}},
    {"namespaces": [{"names": [HOSTILE]}]},
    {"workloads": {"paths": [{"kind": HOSTILE, "path": HOSTILE}]}},
    {"resources": [{"name": HOSTILE}, {"name": HOSTILE}]},
    {"nodes": [{"name": "n", "labels": {HOSTILE: []}}]},
]
WRONG_FILES = [*map(json.dumps, WRONG_VALUES), "a: [", "a: 1\n---\nb: 2\n", ""]


@pytest.mark.parametrize("content", WRONG_FILES)
def test_hostile_settings_and_facts(here: Path, content: str) -> None:
    for name in ("settings.yaml", HOSTILE.replace("/", " "), ":", os.fsdecode(b"\xff")):
        Path(name).write_text(content)
        Path("pod.json").write_text(json.dumps(pod("p")))
        for arguments in (
            ("check", "-f", "pod.json", "--config", name),
            ("mutate", "-f", "pod.json", "--facts", name),
            ("config", "validate", "--config", name),
            ("config", "view", "--config", name),
            ("serve", "--config", name, "--tls-mode", "self-managed"),
        ):
            assert_safe(run(*arguments))


@pytest.mark.parametrize("output", ["yaml", "json"])
def test_hostile_values_in_config_view(here: Path, output: str) -> None:
    Path("settings.json").write_text(json.dumps({"tls": {"certFile": HOSTILE, "clientCA": "\n  ::x"}}))
    ended = run("config", "view", "--config", "settings.json", "-o", output)
    assert_safe(ended)
    again = run("config", "view", "--config", "-", "-o", "json", stdin=ended.out.encode())
    assert again.json()["tls"]["certFile"] == HOSTILE


@pytest.mark.parametrize("text", [*BEGINNINGS, os.fsdecode(b"\xff")])
@pytest.mark.parametrize(
    "words",
    [
        *("{}", "--{}", "check {}", "check --{}", "check -f {}", "check -f - -n {}", "check -f - -o {}"),
        *("check -f - --fail-on {}", "check -f - --config {}", "check -f - --facts {}", "check -f - --kubeconfig {}"),
        *("check -f - --context {}", "mutate -f {}", "mutate -f - -o {}", "mutate --namespace={} -f -"),
        *("mutate -f - --installed-as {}", "mutate -f - --context x --without {}", "explain {}", "explain GPS001 {}"),
        *("snapshot {}", "snapshot --context {}", "snapshot --kubeconfig {} --facts {}", "snapshot --config {}"),
        "config {}",
        *("config view --config {}", "config validate --config {}", "completion {}", "version -o {}", "version {}"),
        *("serve {}", "serve --port {}", "serve --host {}", "serve --config {}", "serve --log-level {}"),
        *("serve --tls-cert {} --tls-key {} --port 8443 --health-port 8443", "serve --tls-mode {}"),
        "serve --tls-mode self-managed --installed-as {} --kubeconfig {}",
    ],
)
def test_hostile_options(here: Path, words: str, text: str) -> None:
    ended = run(*(word.replace("{}", text) for word in words.split()), stdin=json.dumps(pod("p")).encode())
    assert_safe(ended)
    assert ended.code == 2
    assert ended.err


SERVE = ("serve", "--tls-mode", "self-managed", "--installed-as", "a/b", "--port", "0", "--health-port", "0")


@pytest.mark.slow
@pytest.mark.exhaustive(every=4)
@pytest.mark.parametrize("command", [SERVE, ("snapshot",)], ids=["serve", "snapshot"])
@pytest.mark.parametrize("text", BEGINNINGS)
def test_library_warning_is_safe(here: Path, command: tuple[str, ...], text: str) -> None:
    """In a separate process, since pytest captures what Python logs to standard error."""
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": text}
    # The authority is none, so that the server ends as soon as the library has read the file.
    served = {"server": "https://127.0.0.1:1", "certificate-authority-data": "aGVsbG8="}
    kubeconfig = {
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "clusters": [{"name": "x", "cluster": served}],
        "users": [{"name": "x", "user": {"exec": plugin}}],
    }
    (here / "kubeconfig").write_text(json.dumps(kubeconfig))
    arguments = [sys.executable, "-m", "webhook", *command, "--kubeconfig", "kubeconfig"]
    ended = subprocess.run(arguments, capture_output=True, timeout=20, check=False, text=True)
    assert "No such file or directory" in ended.stdout + ended.stderr
    assert_safe(Ended(ended.returncode, ended.stdout, ended.stderr))


def test_streams_of_tests_accept_any_text() -> None:
    # An encoding that replaces characters would hide the text that these tests look for.
    assert sys.stdout.encoding.lower() == "utf-8"
