"""`mutate`: objects with the edits. Standard output carries data only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonpatch
import pytest
import yaml

from tests.cli.run import Ended, run
from tests.hostile import container, each, pod
from tests.manifests.reading import read
from tests.remedies import ASK_FOR_ONE, CLASS_MUST_EXIST
from webhook.manifests import Manifest
from webhook.policy.verdict import MOST_EDITS


def content(file: str) -> Any:
    return yaml.safe_load(Path(file).read_text())


def summary(ended: Ended) -> str:
    """Return the last line on standard error."""
    return ended.err.splitlines()[-1]


def test_formats_equal_applied_patch(data: Path) -> None:
    patch = run("mutate", "-f", "good.yaml", "-o", "patch").json()
    mutated = run("mutate", "-f", "good.yaml", "-o", "json").json()
    assert mutated == yaml.safe_load(run("mutate", "-f", "good.yaml", "-o", "yaml").out)
    assert patch
    assert mutated == jsonpatch.apply_patch(content("good.yaml"), patch)
    sent = run("check", "-f", "good.yaml", "-o", "json").json()["results"][0]["patch"]
    assert len(sent) == len(patch)
    for written, one in zip(patch, sent, strict=True):
        if one["path"] == "/metadata/annotations":
            assert one["value"].pop("gpushare-webhook/injected")  # the webhook's own, which no manifest needs
        assert written == one


def test_unknown_fields_and_field_order_survive(data: Path) -> None:
    mutated = run("mutate", "-f", "good.yaml", "-o", "json").json()
    assert mutated["spec"]["futureField"] == {"kept": ["as", "it", "is"]}
    assert mutated["spec"]["containers"][0]["futureField"] == "kept"
    assert list(mutated) == ["apiVersion", "kind", "metadata", "spec"]
    assert list(mutated["spec"]["containers"][0])[:3] == ["name", "futureField", "resources"]


def test_mutate_is_idempotent(data: Path) -> None:
    mutated = run("mutate", "-f", "good.yaml").out
    again = run("mutate", "-f", "-", stdin=mutated.encode())
    assert again.out == mutated
    assert run("mutate", "-f", "-", "-o", "patch", stdin=mutated.encode()).json() == []
    assert run("mutate", "-f", "-", "-o", "diff", stdin=mutated.encode()).out == ""


def test_workload_template_is_edited(here: Path) -> None:
    workload = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {
            "template": {
                "metadata": {"labels": {"app": "d"}},
                "spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": 1}}}]},
            }
        },
    }
    (here / "d.json").write_text(json.dumps(workload))
    mutated = run("mutate", "-f", "d.json", "-o", "json").json()
    assert mutated["spec"]["template"]["spec"]["runtimeClassName"] == "nvidia"
    assert mutated["spec"]["template"]["metadata"]["labels"] == {"app": "d"}
    assert mutated["metadata"] == {"name": "d"}


def test_several_objects_without_denied_ones(data: Path) -> None:
    ended = run("mutate", "-f", "good.yaml", "-f", "pods.yaml", "-f", "list.yaml", "-o", "json")
    mutated = ended.json()
    assert (mutated["apiVersion"], mutated["kind"]) == ("v1", "List")
    kept = [(item["kind"], item["metadata"]["name"]) for item in mutated["items"]]
    assert kept == [("Pod", "good"), ("ConfigMap", "neither"), ("Pod", "typo")]
    stream = run("mutate", "-f", "good.yaml", "-f", "pods.yaml", "-f", "list.yaml").out
    assert stream.count("\n---\n") == 2
    assert list(yaml.safe_load_all(stream)) == mutated["items"]
    assert [one.value for one in read("stream", stream.encode()) if isinstance(one, Manifest)] == mutated["items"]
    assert ended.code == 1
    assert [line.split(" is denied: ")[0] for line in ended.err.splitlines() if "is denied" in line] == [
        "pods.yaml:10:34: Pod two",
        "pods.yaml:29:18: Pod lab/habits-",
        "list.yaml:16:35: CronJob nightly",
    ]
    assert ended.err.count("    remedy: ") == 3


@pytest.mark.parametrize("output", ["yaml", "json", "patch", "diff"])
def test_denied_object_prints_no_data(data: Path, output: str) -> None:
    ended = run("mutate", "-f", "pod.json", "-o", output)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.splitlines() == [
        'pod.json:7:64: Pod json is denied: GPS001 container "c" asks for 2 of "nvidia.com/gpu"; '
        "the limit is 1 where it is shared through MPS",
        f"    remedy: {ASK_FOR_ONE}",
        "1 object: 1 denied",
    ]


def test_summary_counts_objects(data: Path) -> None:
    assert summary(run("mutate", "-f", "good.yaml")) == "1 object: 1 edited"
    ended = run("mutate", "-f", ".", "-o", "diff")
    assert (
        summary(ended)
        == "9 objects: 2 edited, 2 unchanged, 5 denied; 1 file not read (1 not a Kubernetes object); 3 errors"
    )
    assert ended.code == 2


def test_note_about_runtime_class_is_printed_once_where_classes_are_unknown(here: Path) -> None:
    (here / "pods.yaml").write_text("---\n".join([POD] * 3))
    (here / "facts.yaml").write_text(f"{FACTS}runtimeClasses: [{{name: nvidia, handler: nvidia}}]\n")
    (here / "none.yaml").write_text(POD.replace("nvidia.com/gpu", "cpu"))
    (here / "settings.yaml").write_text("apiVersion: gpushare-webhook/v1\nkind: Settings\n")
    assert run("mutate", "-f", "pods.yaml").err.splitlines()[1:] == [CLASS_MUST_EXIST, "3 objects: 3 edited"]
    for silent in (("--facts", "facts.yaml"), ("--config", "settings.yaml"), ("--profile", "gke"), ("-q",)):
        assert "RuntimeClass" not in run("mutate", "-f", "pods.yaml", *silent).err, silent
    assert "RuntimeClass" not in run("mutate", "-f", "none.yaml").err


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]}
"""
FACTS = "apiVersion: gpushare-webhook/v1\nkind: Facts\n"


def test_quiet_prints_no_summary(data: Path) -> None:
    assert run("mutate", "-f", "good.yaml", "-q").err == ""
    loud, quiet = (run("mutate", "-f", "pods.yaml", "-o", "json", *more) for more in ((), ("--quiet",)))
    assert loud.err == quiet.err + f"{summary(loud)}\n"
    assert quiet.err.count("is denied") == 2


def test_settings_change_edits(data: Path, tmp_path: Path) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text("profile: none\n")
    assert run("mutate", "-f", "good.yaml", "-o", "patch", "--config", settings).json() == []
    settings.write_text("injections: {runtimeClass: {name: other}}\n")
    mutated = run("mutate", "-f", "good.yaml", "--config", settings, "-o", "json").json()
    assert mutated["spec"]["runtimeClassName"] == "other"


def test_patches_of_several_objects_name_the_objects(data: Path) -> None:
    patches = run("mutate", "-f", "good.yaml", "-f", "list.yaml", "-f", "pods.yaml", "-o", "patch").json()
    assert [(one["file"], one["document"], one["object"]["name"]) for one in patches] == [
        ("good.yaml", 1, "good"),
        ("list.yaml", 1, "typo"),
        ("pods.yaml", 2, "neither"),
    ]
    assert patches[0]["patch"] == run("mutate", "-f", "good.yaml", "-o", "patch").json()
    assert patches[2]["patch"] == []


ALIASES = """
apiVersion: v1
kind: Pod
metadata: {name: p, annotations: &shared {}}
spec:
  nodeSelector: *shared
  containers:
  - &container
    name: a
    env: &env [{name: A, value: b}]
    volumeMounts: &none []
    resources: &gpu {limits: {nvidia.com/gpu: 1}}
  - {name: b, env: *env, volumeMounts: *none, resources: {limits: {cpu: 1}}}
  - {name: c, env: *env, volumeMounts: *none, resources: *none}
  volumes: *none
"""


def test_aliases_get_each_edit_once(here: Path) -> None:
    # In YAML an alias is the same list; the API server gets JSON, in which each is a list of its own.
    (here / "aliases.yaml").write_text(ALIASES.replace("resources: *none", "resources: {}"))
    (here / "copies.json").write_text(json.dumps(content("aliases.yaml")))
    for output in ("yaml", "json", "patch"):
        aliases, copies = (run("mutate", "-f", file, "-o", output) for file in ("aliases.yaml", "copies.json"))
        assert (aliases.code, aliases.err.endswith(f"{CLASS_MUST_EXIST}\n1 object: 1 edited\n")) == (0, True)
        assert yaml.safe_load(aliases.out) == yaml.safe_load(copies.out.replace("copies.json", "aliases.yaml"))
    first, second, third = run("mutate", "-f", "aliases.yaml", "-o", "json").json()["spec"]["containers"]
    assert [entry["name"] for entry in first["env"]] == ["A", "CUDA_MPS_PIPE_DIRECTORY"]
    assert second["env"] == third["env"] == [{"name": "A", "value": "b"}]


def test_alias_bomb_of_text_is_refused(here: Path) -> None:
    # A hundred thousand aliases of one text of a megabyte, hidden among as many values of their own.
    text = f"a: &a {'x' * 2**20}\nkind: Pod\napiVersion: v1\nown: [{'1, ' * 2000}]\nb: [{'*a, ' * 100_000}]\n"
    (here / "bomb.yaml").write_text(text)
    ended = run("mutate", "-f", "bomb.yaml")
    assert (ended.code, ended.out) == (2, "")
    assert "aliases expand to far more text than the document has\n" in ended.err


def test_object_with_too_many_edits_is_left_out(data: Path) -> None:
    asking = pod(initContainers=each(MOST_EDITS, container), containers=[{"name": "c"}])
    refused = run("mutate", "-f", "-", stdin=json.dumps(asking).encode())
    assert refused.code == 2
    assert refused.out == ""
    problem = "<stdin>:1:1: Pod hostile needs more than 4096 edits, so the webhook makes none\n"
    assert refused.err == f"{problem}0 objects; 1 error\n"


def test_verbose_names_what_is_not_injected(here: Path) -> None:
    (here / "pod.yaml").write_text(POD)
    (here / "facts.yaml").write_text("runtimeClasses: [{name: nvidia}, {name: nvidia-legacy}]\n")
    ended = run("mutate", "-f", "pod.yaml", "--facts", "facts.yaml", "-o", "patch", "-v")
    assert "runtimeClassName" not in ended.out
    assert (
        "pod.yaml:1: Pod p: runtimeClass is not injected: the cluster injects devices through CDI "
        "(RuntimeClass nvidia-legacy), see injections.runtimeClass.whenCdi\n"
    ) in ended.err
    assert ended.json() == run("mutate", "-f", "pod.yaml", "--facts", "facts.yaml", "-o", "patch").json()
    assert run("mutate", "-f", "pod.yaml", "-q").err == ""


def test_verbose_omits_opt_in_injections_that_are_off(here: Path) -> None:
    (here / "pod.yaml").write_text(POD)
    (here / "settings.yaml").write_text("injections: {tolerations: {enabled: false}, steering: {enabled: true}}\n")

    def not_injected(*options: object) -> set[str]:
        lines = run("mutate", "-f", "pod.yaml", "-q", "-v", *options).err.splitlines()
        return {line.split(": ")[2].partition(" is not injected")[0] for line in lines}

    assert not_injected() == {"limits"}
    assert not_injected("--config", "settings.yaml") == {"limits", "tolerations", "steering"}


def test_verbose_gives_reason_of_exempt_and_skipped_objects(here: Path) -> None:
    (here / "map.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: m}}")
    assert "ConfigMap m: skipped: " in run("mutate", "-f", "map.yaml", "-v").err


def test_reported_injections_are_named_and_not_made(data: Path, tmp_path: Path) -> None:
    (tmp_path / "report.yaml").write_text("injections: {mode: report}\n")
    ran = run("mutate", "-f", "good.yaml", "--config", str(tmp_path / "report.yaml"), "-v")
    assert (ran.code, ran.out) == (0, Path("good.yaml").read_text())
    assert "runtimeClass is not injected: it is only reported, see injections.mode" in ran.err
    assert "note: the settings only report some injections" in ran.err
    assert ran.err.splitlines()[-1] == "1 object: 1 unchanged"
