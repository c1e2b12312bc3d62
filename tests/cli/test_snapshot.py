"""`snapshot`: the facts of a cluster, and the installed settings, as files that `check` reads."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event

import pytest
import yaml

from tests.cli.cluster import (
    DEVICE_CLASSES,
    INSTALLED_AS,
    NAMESPACES,
    NODES,
    PERSONAL,
    PLUGIN,
    RUNTIME_CLASSES,
    SETTINGS,
    FakeCluster,
    kubeconfig,
)
from tests.cli.run import run
from webhook.cli.options import PARTS
from webhook.dryrun.files import read_facts
from webhook.policy.settings.settings import Settings

PATIENCE = 20

FACTS = """\
apiVersion: gpushare-webhook/v1
kind: Facts
nodes:
- {name: cpu-1}
- name: mps-1
  labels: {nvidia.com/gpu.replicas: '10', nvidia.com/mps.capable: 'true', revision: '12e4'}
  resources: {nvidia.com/gpu: 10}
- name: whole-1
  labels: {pool: whole}
  taints: [{key: team, effect: NoSchedule, value: ml}]
  resources: {nvidia.com/gpu: 4}
namespaces: [{name: team-a}, {name: team-b, labels: {pod-security.kubernetes.io/enforce: baseline}}]
runtimeClasses: [{name: kata, handler: kata-qemu}, {name: nvidia, handler: nvidia}]
deviceClasses: [{name: gpu.nvidia.com, extendedResourceName: nvidia.com/gpu}]
devicePlugin:
  version: 0.20.0
  configs: [{name: mps-10, strategy: mps, resources: [{name: nvidia.com/gpu, replicas: 10}]}]
"""
PLUGIN_OPTIONS = ("--config", Path(__file__).parent / "data" / "names-plugin.yaml")
SOURCES = {
    "nodes": NODES,
    "namespaces": NAMESPACES,
    "runtimeClasses": RUNTIME_CLASSES,
    "deviceClasses": DEVICE_CLASSES,
    "devicePlugin": PLUGIN,
}


def test_snapshot_of_all_parts(prod: tuple[str, ...]) -> None:
    result = run("snapshot", *prod, *PLUGIN_OPTIONS)
    assert (result.code, result.err) == (0, "")
    facts = yaml.safe_load(result.out)
    default = facts["devicePlugin"].pop("defaultConfig", None)
    assert default in (None, "mps-10")
    assert facts == yaml.safe_load(FACTS)


def test_snapshot_is_stable(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    first = run("snapshot", *prod, *PLUGIN_OPTIONS)
    for path, items in cluster.lists.items():
        cluster.lists[path] = items[::-1]
    cluster.lists[NODES][1]["metadata"]["labels"]["nvidia.com/gfd.timestamp"] = "1790000999"
    cluster.lists[NODES][1]["metadata"]["annotations"]["heartbeat"] = "now"
    assert run("snapshot", *prod, *PLUGIN_OPTIONS).out == first.out


@pytest.mark.parametrize("output", ["yaml", "json"])
def test_snapshot_loads_as_the_same_facts(prod: tuple[str, ...], output: str) -> None:
    for number in ("1", "2"):
        result = run("snapshot", *prod, *PLUGIN_OPTIONS, "-o", output, "--facts", f"facts-{number}")
        assert (result.code, result.out, result.err) == (0, "", "")
    assert Path("facts-1").read_bytes() == Path("facts-2").read_bytes()
    loaded = read_facts("facts-1", Settings())
    assert [node.name for node in loaded.nodes or ()] == ["cpu-1", "mps-1", "whole-1"]
    assert (loaded.nodes or ())[1].labels["revision"] == "12e4"


def test_snapshot_holds_nothing_personal(prod: tuple[str, ...]) -> None:
    result = run("snapshot", *prod, "--installed-as", INSTALLED_AS, "--settings", "settings.yaml")
    written = result.out + result.err + Path("settings.yaml").read_text()
    assert [text for text in PERSONAL if text in written] == []


def test_installed_settings_are_written_and_applied(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    options = ("--installed-as", INSTALLED_AS, "--facts", "facts.yaml", "--settings", "settings.yaml")
    result = run("snapshot", *prod, *options)
    assert (result.code, result.out) == (0, "")
    assert result.err.splitlines() == [
        f"{part}: not read, so that check treats it as unknown (the installed settings do not read it either)"
        for part in ("runtimeClasses", "deviceClasses")
    ]
    assert Path("settings.yaml").read_text() == cluster.objects[SETTINGS]["data"]["settings.yaml"]
    facts = yaml.safe_load(Path("facts.yaml").read_text())
    assert list(facts) == ["apiVersion", "kind", "nodes", "namespaces", "devicePlugin"]
    assert facts["namespaces"][0] == {"name": "team-a", "labels": {"example.com/gpu": "audit"}}
    assert RUNTIME_CLASSES not in cluster.asked


def test_settings_file_names_labels_and_plugin(prod: tuple[str, ...]) -> None:
    Path("settings.yaml").write_text("exempt: {label: example.com/gpu}\nfacts: {devicePlugin: gpu/device-plugin}\n")
    result = run("snapshot", *prod, "--config", "settings.yaml")
    facts = yaml.safe_load(result.out)
    assert facts["namespaces"][0] == {"name": "team-a", "labels": {"example.com/gpu": "audit"}}
    assert {"runtimeClasses", "deviceClasses", "devicePlugin"} < facts.keys()


def test_parts_that_are_left_out_are_named(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    result = run("snapshot", *prod, "--without", "nodes", "--without", "namespaces")
    assert (result.code, list(yaml.safe_load(result.out))) == (
        0,
        ["apiVersion", "kind", "runtimeClasses", "deviceClasses"],
    )
    assert result.err.splitlines() == [
        "nodes: not read, so that check treats it as unknown (--without nodes)",
        "namespaces: not read, so that check treats it as unknown (--without namespaces)",
        "devicePlugin: not read, so that check treats it as unknown (no ConfigMap of it is named: "
        "name it in facts.devicePlugin of a file for --config)",
    ]
    assert not {NODES, NAMESPACES} & set(cluster.asked)


@pytest.mark.parametrize("part", PARTS)
def test_forbidden_part_is_an_error_unless_left_out(cluster: FakeCluster, prod: tuple[str, ...], part: str) -> None:
    cluster.refused[SOURCES[part]] = 403
    options = (*prod, *PLUGIN_OPTIONS, "--facts", "facts.yaml")
    result = run("snapshot", *options)
    (line,) = result.err.splitlines()
    assert (result.code, result.out, Path("facts.yaml").exists()) == (2, "", False)
    assert line.startswith(f"context prod: {part}: ")
    assert SOURCES[part].split("/")[-1 if part != "devicePlugin" else -2] in line
    assert line.endswith(f"; or leave it out with --without {part}")
    assert run("snapshot", *options, "--without", part).code == 0
    assert Path("facts.yaml").exists()


def test_all_forbidden_parts_are_named(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    cluster.refused |= {NODES: 403, NAMESPACES: 403}
    result = run("snapshot", *prod)
    assert result.code == 2
    assert [line.split(": ")[1] for line in result.err.splitlines()] == ["nodes", "namespaces"]


@pytest.mark.parametrize("data", [None, {}, {"config": "flags: {}\nsharing: {mps: {resources: 1}}\n"}])
def test_plugin_without_configuration_is_an_error(
    cluster: FakeCluster, prod: tuple[str, ...], data: dict[str, str] | None
) -> None:
    if data is None:
        del cluster.objects[PLUGIN]
    else:
        cluster.objects[PLUGIN]["data"] = data
    result = run("snapshot", *prod, *PLUGIN_OPTIONS)
    assert (result.code, result.out) == (2, "")
    assert result.err.splitlines()[-1] == (
        "context prod: devicePlugin: gpu/device-plugin: no configuration there; name the plugin's ConfigMap; "
        "or leave it out with --without devicePlugin"
    )


def test_configuration_that_plugin_rejects_is_named(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    cluster.objects[PLUGIN]["data"]["wrong"] = "version: v9\n"
    result = run("snapshot", *prod, *PLUGIN_OPTIONS)
    assert result.code == 0
    assert [one["name"] for one in yaml.safe_load(result.out)["devicePlugin"]["configs"]] == ["mps-10"]
    (line,) = result.err.splitlines()
    assert line.startswith("context prod: device-plugin: ConfigMap gpu/device-plugin, key wrong: ")


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (401, 2, "context prod: the API server does not accept the credentials; log in again, then retry\n"),
        (403, 0, ""),
    ],
)
def test_version_that_is_refused_is_an_error_unless_forbidden(
    cluster: FakeCluster, prod: tuple[str, ...], status: int, code: int, said: str
) -> None:
    cluster.refused["/version"] = status
    result = run("snapshot", *prod, "--without", "devicePlugin")
    assert (result.code, result.err.partition("devicePlugin")[0]) == (code, said)


def test_unreachable_server(here: Path) -> None:
    Path("kubeconfig").write_text(yaml.safe_dump(kubeconfig("https://127.0.0.1:1", "")))
    result = run("snapshot", "--kubeconfig", "kubeconfig", "--facts", "facts.yaml")
    (line,) = result.err.splitlines()
    assert (result.code, result.out, Path("facts.yaml").exists()) == (2, "", False)
    assert line.startswith(
        "the cluster: cannot be read: GET /version: no connection to 127.0.0.1:1: connection refused; "
    )
    assert line.endswith("; check that the kubeconfig's address is right and can be reached from here")


NO_KEY = f"context prod: ConfigMap {INSTALLED_AS} has no key settings.yaml; name the ConfigMap of the chart"
INSTALLATION = "name the installation: the namespace, and the name that the chart gives its objects"


@pytest.mark.parametrize(
    ("status", "data", "said"),
    [
        (404, None, f"context prod: ConfigMap {INSTALLED_AS} does not exist; {INSTALLATION}"),
        (
            403,
            None,
            f"context prod: ConfigMap {INSTALLED_AS} cannot be read: 403: not allowed to get configmaps mps/webhook; "
            'add this rule to a Role in namespace mps: {apiGroups: [""], resources: [configmaps], '
            "resourceNames: [webhook], verbs: [get]}",
        ),
        (500, None, f"context prod: ConfigMap {INSTALLED_AS} cannot be read: 500 refused: 500"),
        (200, {"a": "b"}, NO_KEY),
        (200, None, NO_KEY),
        (
            200,
            {"settings.yaml": "a: 1"},
            f'ConfigMap {INSTALLED_AS}:1:1: a: unknown key "a"; the keys here are profile, mode',
        ),
    ],
)
def test_settings_that_cannot_be_read(
    cluster: FakeCluster, prod: tuple[str, ...], status: int, data: object, said: str
) -> None:
    if status == 200:
        cluster.objects[SETTINGS] = {"data": data}
    else:
        cluster.refused[SETTINGS] = status
    result = run("snapshot", *prod, "--installed-as", INSTALLED_AS, "--settings", "settings.yaml")
    (line,) = result.err.splitlines()
    assert (result.code, result.out, Path("settings.yaml").exists()) == (2, "", False)
    assert line.startswith(said)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--settings", "s.yaml"), "--settings needs --installed-as NAMESPACE/NAME, which names the settings to write"),
        (
            ("--config", "s.yaml", "--installed-as", "a/b"),
            "--config and --installed-as: both name the settings; leave out",
        ),
        (
            ("--installed-as", "a/b", "--facts", "x", "--settings", "x"),
            "--facts and --settings name the same file; name two",
        ),
        (("--installed-as", "a/b", "--settings", "-"), "--facts and --settings name the same file; name two"),
        (
            ("--installed-as", "a/b", "--facts", "x.yaml", "--settings", "./x.yaml"),
            "--facts and --settings name the same file; name two",
        ),
        (
            ("--installed-as", "ab"),
            "Invalid value for '--installed-as': must be namespace/name of an object, not",
        ),
        (("--without", "pods"), "Invalid value for '--without': 'pods' is not one of 'nodes', 'namespaces'"),
    ],
)
def test_wrong_usage(here: Path, options: tuple[str, ...], said: str) -> None:
    result = run("snapshot", *options)
    assert (result.code, result.out) == (2, "")
    assert result.err.splitlines()[-1].startswith(f"Error: {said}")


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("missing/facts.yaml", "missing/facts.yaml: its folder does not exist; create it first"),
        (".", ".: cannot be written: is a folder; name a file"),
        ("", '"": cannot be written: the name is empty; name a file'),
        ("/dev/full", "/dev/full: cannot be written: no space left on device"),
        ("a\0b", "a?b: cannot be written: embedded null byte"),
        ("x" * 300, f"{'x' * 300}: cannot be written: file name too long"),
    ],
)
def test_file_that_cannot_be_written(prod: tuple[str, ...], file: str, said: str) -> None:
    before = sorted(Path().iterdir())
    result = run("snapshot", *prod, "--without", "devicePlugin", "--facts", file)
    assert (result.code, result.out, result.err) == (2, "", f"{said}\n")
    assert sorted(Path().iterdir()) == before


def test_failure_of_second_file_keeps_first(prod: tuple[str, ...]) -> None:
    Path("facts.yaml").write_text("old")
    options = ("--installed-as", INSTALLED_AS, "--facts", "facts.yaml", "--settings", "missing/settings.yaml")
    result = run("snapshot", *prod, *options)
    assert result.err == "missing/settings.yaml: its folder does not exist; create it first\n"
    assert Path("facts.yaml").read_text() == "old"
    assert sorted(path.name for path in Path().iterdir()) == ["api", "facts.yaml"]


def test_new_file_has_usual_mode_and_existing_one_keeps_mode_and_link(prod: tuple[str, ...]) -> None:
    Path("real").mkdir()
    real = Path("real/facts.yaml")
    Path("facts.yaml").symlink_to(real)
    real.write_text("old")
    real.chmod(0o640)
    mask = os.umask(0o022)
    try:
        assert run("snapshot", *prod, "--facts", "facts.yaml").code == 0
        assert run("snapshot", *prod, "--facts", "new.yaml").code == 0
    finally:
        os.umask(mask)
    assert Path("facts.yaml").is_symlink()
    assert [stat.S_IMODE(file.stat().st_mode) for file in (real, Path("new.yaml"))] == [0o640, 0o644]
    assert real.read_text().startswith("apiVersion:")
    assert [path.name for path in Path("real").iterdir()] == ["facts.yaml"]


def test_named_pipe_gets_the_text(prod: tuple[str, ...]) -> None:
    os.mkfifo("pipe")
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(Path("pipe").read_text)
        assert run("snapshot", *prod, "--facts", "pipe").code == 0
        assert reading.result(PATIENCE).startswith("apiVersion:")
    assert stat.S_ISFIFO(Path("pipe").stat().st_mode)


@pytest.mark.slow
@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1"])
def test_standard_output_by_name(prod: tuple[str, ...], name: str) -> None:
    program = [sys.executable, "-m", "webhook", "snapshot", *prod, "--without", "devicePlugin", "--facts", name]
    assert subprocess.check_output(program, timeout=PATIENCE, text=True, stderr=subprocess.DEVNULL).startswith(
        "apiVersion:"
    )
    with Path("file").open("w") as file:
        subprocess.run(program, timeout=PATIENCE, stdout=file, stderr=subprocess.DEVNULL, check=True)
    assert Path("file").read_text().startswith("apiVersion:")


@pytest.mark.slow
def test_interrupt_leaves_file_as_it_was(cluster: FakeCluster, prod: tuple[str, ...]) -> None:
    Path("facts.yaml").write_text("old")
    asked = Event()

    async def hang(_: object) -> None:
        asked.set()
        await asyncio.Event().wait()

    cluster.before[NODES] = hang
    program = [sys.executable, "-m", "webhook", "snapshot", *prod, "--facts", "facts.yaml"]
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a shell ignores it for background jobs
    with subprocess.Popen(program, stderr=subprocess.PIPE, preexec_fn=heed) as process:
        assert asked.wait(PATIENCE)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (130, b"")
    assert Path("facts.yaml").read_text() == "old"
    assert sorted(path.name for path in Path().iterdir()) == ["api", "facts.yaml"]
