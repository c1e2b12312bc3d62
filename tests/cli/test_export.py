"""`export policies`: the objects, the header that says what stays with the webhook, and wrong usage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.run import Ended, run

CODES = "GPS001, GPS002, GPS003, GPS004, GPS009, GPS010, GPS015, GPS017, GPS018"
INSTALLED = "--installed-as=gpu/release"


def _objects(ended: Ended) -> list[dict[str, Any]]:
    assert (ended.code, ended.err) == (0, "")
    return list(yaml.safe_load_all(ended.out))


def _header(ended: Ended) -> str:
    return "\n".join(line.removeprefix("# ") for line in ended.out.splitlines() if line.startswith("#"))


def _settings(folder: Path, text: str) -> Path:
    file = folder / "settings.yaml"
    file.write_text(f"apiVersion: gpushare-webhook/v1\nkind: Settings\n{text}")
    return file


def test_export_holds_policy_and_binding_per_code() -> None:
    ended = run("export", "policies", "--config=/dev/null")
    objects = _objects(ended)
    policies = [one for one in objects if one["kind"] == "ValidatingAdmissionPolicy"]
    bindings = [one for one in objects if one["kind"] == "ValidatingAdmissionPolicyBinding"]
    assert f"They decide {CODES}, for Pod," in _header(ended)
    assert [one["metadata"]["name"] for one in policies] == [
        f"gpushare-webhook-{code.lower()}" for code in CODES.split(", ")
    ]
    assert [one["spec"]["policyName"] for one in bindings] == [one["metadata"]["name"] for one in policies]
    assert not any("paramKind" in one["spec"] for one in policies)


def test_bindings_act_as_severities_say(tmp_path: Path) -> None:
    text = "severities: {GPS001: audit, GPS002: 'off'}\nnamespaces: [{names: [lab-*], severities: {GPS001: warn}}]\n"
    objects = _objects(run("export", "policies", "--config", _settings(tmp_path, text)))
    actions = {one["metadata"]["name"]: one["spec"].get("validationActions") for one in objects}
    assert actions["gpushare-webhook-gps001"] == ["Warn"]
    assert actions["gpushare-webhook-gps001-audit"] == ["Audit"]
    assert actions["gpushare-webhook-gps003"] == ["Deny"]
    assert actions["gpushare-webhook-gps009"] == ["Warn"]
    assert "gpushare-webhook-gps002" not in actions


def test_installed_policies_obey_the_release() -> None:
    objects = _objects(run("export", "policies", "--config=/dev/null", INSTALLED))
    reference = {"name": "release-parameters", "namespace": "gpu", "parameterNotFoundAction": "Allow"}
    names = [f"release-{code.lower()}" for code in CODES.split(", ")]
    assert [one["metadata"]["name"] for one in objects[::2]] == [*names, "release-injections", "release-tolerations"]
    *pairs, lost_tolerations = zip(objects[::2], objects[1::2], strict=True)
    # Whatever the mode, the API server would reject an update that drops tolerations.
    assert "paramKind" not in lost_tolerations[0]["spec"]
    for policy, binding in pairs:
        assert policy["spec"]["paramKind"] == {"apiVersion": "v1", "kind": "ServiceAccount"}
        (mode,) = [one for one in policy["spec"]["matchConditions"] if one["name"] == "mode"]
        assert "parameters.gpushare-webhook/mode" in mode["expression"]
        assert binding["spec"]["policyName"] == policy["metadata"]["name"]
        assert binding["spec"]["paramRef"] == reference
        excluded = binding["spec"]["matchResources"]["namespaceSelector"]["matchExpressions"][0]
        assert {"gpu", "kube-system"} <= set(excluded["values"])


def test_static_objects_have_names_of_policy_files() -> None:
    objects = _objects(run("export", "policies", "--config=/dev/null", "--static"))
    assert all(one["metadata"]["name"].endswith(".static.k8s.io") for one in objects)
    assert all(one["spec"]["policyName"].endswith(".static.k8s.io") for one in objects[1::2])


def test_kinds_select_rules() -> None:
    ended = run("export", "policies", "--config=/dev/null", "--kinds=Pod,Deployment")
    matched = _objects(ended)[0]["spec"]["matchConstraints"]["resourceRules"]
    assert [one["resources"] for one in matched] == [["pods"], ["deployments"]]
    assert "for Pod, Deployment." in _header(ended)


@pytest.mark.parametrize(
    ("text", "code", "reason"),
    [
        ("suppress: {annotation: example.com/ignore}", "GPS003", "suppress.annotation is set"),
        ("facts: {nodes: true}", "GPS001", "facts.nodes is set"),
        ("limits: {mpsMayAcceptMore: true}", "GPS002", "limits.mpsMayAcceptMore is set"),
        (
            "namespaces: [{selector: {matchLabels: {team: a}}, severities: {GPS010: warn}}]",
            "GPS010",
            "a rule of namespaces with a selector changes its severity",
        ),
    ],
)
def test_inexpressible_settings_leave_code_to_webhook(tmp_path: Path, text: str, code: str, reason: str) -> None:
    file = _settings(tmp_path, text)
    ended = run("export", "policies", "--config", file)
    assert f"- {code}: {reason}" in _header(ended)
    assert f"gpushare-webhook-{code.lower()}" not in [one["metadata"]["name"] for one in _objects(ended) if one]
    strict = run("export", "policies", "--config", file, "--strict")
    assert (strict.code, strict.out) == (2, "")
    assert f"{code} is left to the webhook: {reason}" in strict.err


MPS_NODE = "{name: a, labels: {nvidia.com/gpu.sharing-strategy: mps}, resources: {nvidia.com/gpu: 4}}"
WHOLE_NODE = "{name: b, labels: {nvidia.com/gpu.sharing-strategy: none}, resources: {nvidia.com/gpu: 1}}"


def _facts(folder: Path, nodes: str) -> Path:
    file = folder / "facts.yaml"
    file.write_text(f"apiVersion: gpushare-webhook/v1\nkind: Facts\nnodes: [{nodes}]\nruntimeClasses: []\n")
    return file


@pytest.mark.parametrize("text", ["", "facts: {nodes: true}"])
def test_facts_stand_in_policies(tmp_path: Path, text: str) -> None:
    settings, facts = _settings(tmp_path, text), _facts(tmp_path, MPS_NODE)
    ended = run("export", "policies", "--config", settings, "--facts", facts, "--strict")
    objects = {(one["kind"], one["metadata"]["name"]): one["spec"] for one in _objects(ended)}
    assert not any("paramKind" in spec for spec in objects.values())
    assert f"They decide {CODES}, for Pod," in _header(ended)
    assert f"and the facts of {facts}." in _header(ended).splitlines()[0]
    limits, parameters = (
        next(one["expression"] for one in objects[key]["variables"] if one["name"] == name)
        for key, name in (
            (("ValidatingAdmissionPolicy", "gpushare-webhook-gps001"), "limits"),
            (("MutatingAdmissionPolicy", "gpushare-webhook-injections"), "parameters"),
        )
    )
    assert limits == 'dyn({"container":1,"pod":1,"timeSlicing":-1})'
    assert parameters == 'dyn({"limitMps":"1","sharing":"mps"})'


def test_facts_of_mixed_nodes_leave_codes_to_webhook(tmp_path: Path) -> None:
    ended = run("export", "policies", "--config=/dev/null", "--facts", _facts(tmp_path, f"{MPS_NODE}, {WHOLE_NODE}"))
    assert "They decide GPS003, GPS018, for Pod," in _header(ended)
    for left in ("GPS001", "GPS017", "pipes and limits"):
        assert f"- {left}: the facts do not show that every GPU node shares through MPS" in _header(ended)


def test_policies_of_release_guard_codes_that_depend_on_facts(tmp_path: Path) -> None:
    text = "facts: {nodes: true}\nseverities: {GPS010: warn}"
    ended = run("export", "policies", "--config", _settings(tmp_path, text), INSTALLED)
    assert "They decide GPS003, GPS018, for Pod," in _header(ended)
    assert "- GPS001: facts.nodes is set, and a policy denies only where every GPU node" in _header(ended)
    found = {one["metadata"]["name"]: one["spec"] for one in _objects(ended)[::2]}
    # The hooks warn: policies only deny.
    assert not found.keys() & {"release-gps009", "release-gps010", "release-gps015"}
    conditions = {name: [one["name"] for one in spec["matchConditions"]] for name, spec in found.items()}
    assert conditions["release-gps001"][:3] == ["mode", "all-share", "has-limit"]
    assert conditions["release-gps017"][:3] == ["mode", "all-share", "no-mirror"]
    assert conditions["release-gps003"][:2] == ["mode", "no-mirror"]


def test_strict_export_of_expressible_settings_is_the_same() -> None:
    arguments = ("export", "policies", "--config=/dev/null")
    assert run(*arguments, "--strict") == run(*arguments)


@pytest.mark.parametrize(
    ("argument", "problem"),
    [
        ("--as=vap,rego", 'there is no form "rego"; choose from vap'),
        ("--kinds=Deploymnt", 'no policy covers a kind "Deploymnt"; did you mean "Deployment"?'),
        ("--installed-as=release", "must be namespace/name of an object"),
    ],
)
def test_wrong_option_is_refused(argument: str, problem: str) -> None:
    ended = run("export", "policies", argument)
    assert (ended.code, ended.out) == (2, "")
    assert problem in ended.err


@pytest.mark.parametrize(
    ("argument", "problem"),
    [
        ("--static", "--static and --installed-as: policy files read no objects; leave out one"),
        ("--facts=-", "--facts and --installed-as: the webhook of a release knows the facts; leave out one"),
    ],
)
def test_release_excludes_static_files_and_facts(argument: str, problem: str) -> None:
    ended = run("export", "policies", argument, INSTALLED)
    assert (ended.code, ended.out) == (2, "")
    assert problem in ended.err
