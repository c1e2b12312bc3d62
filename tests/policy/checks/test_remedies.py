"""Remedies work: a pod changed as a remedy says has no finding with that remedy."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, cast

import yaml

from tests.cases import every_case
from tests.fixture import Fixture, evaluator_of, load_all, origin_of
from webhook.policy.placement.selector import AFFINITY
from webhook.policy.pods.pod import Pod
from webhook.policy.settings.settings import Workloads
from webhook.policy.verdict import Finding, Path, Verdict
from webhook.policy.workloads.kinds import ExtractedPod, extract, group_of
from webhook.policy.workloads.paths import REPEATED, Assembly, steps
from webhook.policy.workloads.presets import kinds_with

Json = dict[str, Any]
Change = Callable[[Json, Finding, re.Match[str]], None]


def at(root: Any, path: Path) -> Any:
    for step in path:
        root = root[step]
    return root


def delete(root: Json, finding: Finding, _: re.Match[str]) -> None:
    """Remove the value; of an element of a list, such as a variable or a mount, the whole element."""
    lists = [index for index, step in enumerate(finding.path) if isinstance(step, int)]
    within = finding.path[lists[-1] - 1] if lists else ""
    path = finding.path[: lists[-1] + 1] if within in ("env", "volumeMounts") else finding.path
    del at(root, path[:-1])[path[-1]]


def assign(value: object) -> Change:
    def change(root: Json, finding: Finding, _: re.Match[str]) -> None:
        at(root, finding.path[:-1])[finding.path[-1]] = value

    return change


def matched(root: Json, finding: Finding, found: re.Match[str]) -> None:
    """Set the value that the remedy names; at a variable without a value, its value."""
    held = at(root, finding.path if isinstance(finding.path[-1], int) else finding.path[:-1])
    if "env" in finding.path:
        held.pop("valueFrom", None)
        held["value"] = found[1]
    else:
        held[finding.path[-1]] = found[1]


def named(root: Json, finding: Finding, found: re.Match[str]) -> None:
    """Set the name that the remedy gives, also as an element of a list."""
    at(root, finding.path[:-1])[finding.path[-1]] = found[1]


def name_container(root: Json, finding: Finding, _: re.Match[str]) -> None:
    """Move an annotation of KAI's operator to the first container."""
    *path, key = finding.path
    settings = at(root, tuple(path))
    setting = ".".join(str(key).split(".")[-2:])
    settings[f"nvidia.com/container.{root['spec']['containers'][0]['name']}.{setting}"] = settings.pop(key)


def amount(root: Json, finding: Finding, found: re.Match[str]) -> None:
    set_amount(root, finding, int(found[1]))


def one(root: Json, finding: Finding, _: re.Match[str]) -> None:
    set_amount(root, finding, 1)


def set_amount(root: Json, finding: Finding, value: int) -> None:
    """Set the quantity under limits and requests; for a form of its own, the only one."""
    if finding.path[-2:] == ("gpu", "quantity") or finding.path[-1] == "gpu":
        at(root, finding.path[:-1])[finding.path[-1]] = value
        return
    resources = at(root, finding.path[:-2])
    for field in ("limits", "requests"):
        if finding.path[-1] in (resources.get(field) or {}):
            resources[field][finding.path[-1]] = value


KINDS = kinds_with(Workloads())


def assembled(root: Json) -> list[tuple[ExtractedPod, Assembly]]:
    """The pods of an object that a controller assembles."""
    group, kind = group_of(root.get("apiVersion", "")), root.get("kind", "")
    return [
        (extracted, extracted.place.holds)
        for extracted in extract(KINDS, root, group, kind)
        if isinstance(extracted.place.holds, Assembly)
    ]


def places(root: Json) -> Iterator[Json]:
    """The mappings that hold fields of an object's pod specs, or could; of an assembled pod, the last one is last."""
    for extracted, assembly in assembled(root):
        for around in assembly.around:
            yield made(root, extracted.path, steps(around))
    yield from whole_specs(root)


def specs(root: Json) -> Iterator[Json]:
    """The mappings in which the fields of an object's pod specs can be set."""
    for extracted, assembly in assembled(root):
        for around in assembly.around[-1:]:
            yield made(root, extracted.path, steps(around))
    yield from whole_specs(root)


def made(root: Json, path: Path, pattern: tuple[str, ...]) -> Json:
    """The mapping to which steps lead, made if it is missing. They pass through the elements of a path."""
    node: Any = root
    for depth, step in enumerate(pattern):
        node = node[path[depth]] if step in REPEATED else node.setdefault(step, {})
    return cast("Json", node)


NO_DEVICES = {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}


def void_everywhere(root: Json, _: Finding, __: re.Match[str]) -> None:
    for spec in specs(root):
        for container in (*(spec.get("initContainers") or ()), *spec["containers"]):
            container.setdefault("env", []).append(NO_DEVICES)


def request_gpu(root: Json, _: Finding, __: re.Match[str]) -> None:
    """Request it in the first container that does not set the variable, which the message names."""
    for spec in specs(root):
        containers = (*(spec.get("initContainers") or ()), *spec["containers"])
        exposed = next(one for one in containers if NO_DEVICES not in one.get("env", ()))
        exposed["resources"] = {"limits": {"nvidia.com/gpu": 1}}


def whole_specs(root: Json) -> Iterator[Json]:
    """The pod specs of an object, which are whole."""
    if "containers" in root:
        yield root
    for value in root.values():
        for member in value if isinstance(value, list) else (value,):
            if isinstance(member, dict):
                yield from whole_specs(member)


def require(root: Json, _: Finding, found: re.Match[str]) -> None:
    expressions = [
        {"key": key, "operator": operator, "values": re.findall('"([^"]*)"', values)}
        for key, operator, values in re.findall(r"(\S+) (In|NotIn) \[([^\]]*)\]", found[1])
    ]
    for spec in specs(root):
        required = spec
        for step in AFFINITY:
            required[step] = required.get(step) or {}
            required = required[step]
        required["nodeSelectorTerms"] = required.get("nodeSelectorTerms") or [{}]
        for term in required["nodeSelectorTerms"]:
            term.setdefault("matchExpressions", []).extend(expressions)


def split(root: Json, finding: Finding, _: re.Match[str]) -> None:
    """Keep the container of the finding, and leave the others to a pod of their own."""
    kept, resources, pods = at(root, finding.path[:-3]), at(root, finding.path[:-2]), assembled(root)
    for extracted, _assembly in pods:
        leave(root, extracted.pod, finding)
    for spec in () if pods else specs(root):
        spec.pop("initContainers", None)
        spec["containers"] = [kept]
    for field in ("limits", "requests"):
        held = resources.get(field) or {}
        resources[field] = {name: 1 for name in held if name == finding.path[-1]}


def leave(root: Json, pod: Pod, finding: Finding) -> None:
    """Keep the container of the finding, or the last one if it inherits the amount, of an assembled pod."""
    containers = list(pod.every_container())
    own = [one for one in containers if finding.path[: len(one.path)] == one.path]
    for container in reversed([one for one in containers if one not in (own or containers)[-1:]]):
        del at(root, container.path[:-1])[container.path[-1]]


def equal(root: Json, finding: Finding, _: re.Match[str]) -> None:
    resources, name = at(root, finding.path[:-2]), finding.path[-1]
    resources["requests"][name] = resources["limits"][name]


def move(root: Json, finding: Finding, _: re.Match[str]) -> None:
    resources, name = at(root, finding.path[:-2]), finding.path[-1]
    resources["limits"] = {**(resources.get("limits") or {}), name: resources["requests"].pop(name)}


def into_container(root: Json, finding: Finding, _: re.Match[str]) -> None:
    spec = at(root, finding.path[:-3])
    for amounts in spec.pop("resources", {}).values():
        spec["containers"][0].setdefault("resources", {})["limits"] = {finding.path[-1]: amounts[finding.path[-1]]}


def omit_request(root: Json, finding: Finding, _: re.Match[str]) -> None:
    del at(root, finding.path[:-2])["requests"][finding.path[-1]]


def same_user(root: Json, finding: Finding, found: re.Match[str]) -> None:
    user = int(found[1]) if found.re.groups else 1000
    for spec in specs(root):
        spec.setdefault("securityContext", {})["runAsUser"] = user
        for container in (*(spec.get("initContainers") or ()), *spec["containers"]):
            container.setdefault("securityContext", {})["runAsUser"] = user


def field(value: object) -> Change:
    """Set the member of the pod spec that the remedy names, or remove it."""

    def change(root: Json, _: Finding, found: re.Match[str]) -> None:
        for place in places(root):
            place.pop(found[1], None)
        for spec in specs(root) if value is not None else ():
            spec[found[1]] = value

    return change


def first_only(root: Json, finding: Finding, _: re.Match[str]) -> None:
    """Ask for the first of several resources."""
    resources = at(root, finding.path[:-2])
    for field, held in resources.items():
        resources[field] = dict(list(held.items())[:1])


def rename(root: Json, finding: Finding, found: re.Match[str]) -> None:
    if finding.path[-2:] == ("gpu", "name"):
        at(root, finding.path[:-1])["name"] = found[1]
        return
    for amounts in at(root, finding.path[:-2]).values():
        if finding.path[-1] in amounts:
            amounts[found[1]] = amounts.pop(finding.path[-1])


def without_selectors(root: Json, _: Finding, __: re.Match[str]) -> None:
    for spec in places(root):
        for name in ("affinity", "nodeSelector", "nodeName"):
            spec.pop(name, None)


def instead(root: Json, _: Finding, found: re.Match[str]) -> None:
    """Ask for another resource in place of all GPU resources."""
    name = found[1] if found.re.groups else "nvidia.com/gpu"
    for spec in specs(root):
        for container in spec["containers"]:
            for amounts in (container.get("resources") or {}).values():
                for held in [held for held in amounts if "/" in held]:
                    amounts[name] = amounts.pop(held)


def set_selector(root: Json, _: Finding, found: re.Match[str]) -> None:
    for spec in specs(root):
        spec["nodeSelector"][found[1]] = found[2]


def drop_selector(root: Json, _: Finding, found: re.Match[str]) -> None:
    for spec in specs(root):
        del spec["nodeSelector"][found[1]]


def drop_expression(root: Json, finding: Finding, _: re.Match[str]) -> None:
    """Remove the expression; its term and the affinity too when nothing is left, because an empty term fits no node."""
    terms = at(root, finding.path[:-3])
    at(root, finding.path[:-1]).pop(finding.path[-1])
    if not any(terms[finding.path[-3]].values()):
        for spec in specs(root):
            del spec["affinity"]


def tolerate(root: Json, _: Finding, found: re.Match[str]) -> None:
    for spec in specs(root):
        spec.setdefault("tolerations", []).append(yaml.safe_load(found[1]))


def shrink_together(root: Json, finding: Finding, found: re.Match[str]) -> None:
    """Lower the amounts of the containers until their sum is at most the one that the remedy names."""
    left = int(found[1])
    for spec in specs(root):
        for container in spec["containers"]:
            limits = container["resources"]["limits"]
            if finding.path[-1] in limits:
                limits[finding.path[-1]] = min(left, limits[finding.path[-1]])
                left -= limits[finding.path[-1]]


def lower(root: Json, finding: Finding, found: re.Match[str]) -> None:
    """Lower the option of a launcher, or each of its numbers, to the value that the remedy names, or to 1."""
    words, index = at(root, finding.path[:-1]), finding.path[-1]
    option, value = found[1], found[2] if found.re.groups > 1 else "1"
    words[index] = re.sub(r"^(--?[\w-]+=|)\d+$", rf"\g<1>{value}", words[index])
    spelled = re.escape(option).replace(r"\-", "[-_]")
    words[index] = re.sub(rf"({spelled}[ =])\d+", rf"\g<1>{value}", words[index])
    if found.re.groups == 1:
        words[:] = ["1" if word.isdigit() else word for word in words]


def set_fraction(root: Json, finding: Finding, found: re.Match[str]) -> None:
    """Give an option or a variable the value that the remedy names, or add the option behind the program."""
    option, value = found[1], found[2]
    field = max(place for place, step in enumerate(finding.path) if step in ("command", "args", "env", "image"))
    container = at(root, finding.path[:field])
    match finding.path[field:]:
        case ("env", index, "value"):
            container["env"][index]["value"] = value
        case ("image",):
            container.setdefault("args", []).extend([option, value])
        case (words, index):
            if re.fullmatch(r"[\d.]+", container[words][index]):
                container[words][index] = value
            elif " " in container[words][index]:
                container[words][index] += f" {option} {value}"
            else:
                container[words].extend([option, value])


def add_amount(root: Json, finding: Finding, found: re.Match[str]) -> None:
    at(root, finding.path[:-1])[found[1]] = "4"


def delete_both(root: Json, finding: Finding, found: re.Match[str]) -> None:
    delete(root, finding, found)
    del at(root, finding.path[:-2])[found[1]][finding.path[-1]]


def drop_limits(root: Json, finding: Finding, _: re.Match[str]) -> None:
    """Remove all that the entry of a LimitRange says."""
    item = at(root, finding.path[:-2])
    for field in set(item) - {"type"}:
        del item[field]


def default_of_none(root: Json, finding: Finding, found: re.Match[str]) -> None:
    at(root, finding.path[:-2]).setdefault(found[1], {})[found[2]] = "0"


def grant(root: Json, finding: Finding, found: re.Match[str]) -> None:
    """Request as many GPUs as the remedy names in the container of the finding, on the nodes that it names."""
    if found.re.groups > 1:
        require(root, finding, found)
    fields = ("command", "args", "env", "source", "script")
    field = max(place for place, step in enumerate(finding.path) if step in fields)
    limits = at(root, finding.path[:field])["resources"]["limits"]
    limits[next(name for name in limits if name.startswith("nvidia.com/"))] = int(found[found.re.groups])


def keep_apart(root: Json, _: Finding, __: re.Match[str]) -> None:
    terms = [{"topologyKey": "kubernetes.io/hostname", "labelSelector": {}}]
    for spec in specs(root):
        apart = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        spec["affinity"] = {**(spec.get("affinity") or {}), "podAntiAffinity": apart}


def enable_multi_rank(root: Json, finding: Finding, _: re.Match[str]) -> None:
    at(root, finding.path[:-2]).setdefault("env", []).append({"name": "NCCL_MULTI_RANK_GPU_ENABLE", "value": "1"})


def move_amount(root: Json, finding: Finding, found: re.Match[str]) -> None:
    """Move an amount to the place that the remedy names, of which some levels may be missing."""
    name = finding.path[-1]
    value = at(root, finding.path[:-1]).pop(name)
    holder: Any = root
    *outer, last = re.findall(r"[^.\[\]]+", found[1])
    for step, following in zip(outer, [*outer[1:], last], strict=True):
        inner: Any = [] if re.fullmatch(r"\d+|\*", following) else {}
        if isinstance(holder, list):
            index = 0 if step == "*" else int(step)
            holder.extend({} for _ in range(index + 1 - len(holder)))
            holder = holder[index]
        else:
            holder = holder.setdefault(step, inner)
    holder.setdefault(last, {})[name] = value


def rename_kind(root: Json, _: Finding, found: re.Match[str]) -> None:
    root["apiVersion"], root["kind"] = found[1], found[2]


def set_plasma_directory(root: Json, finding: Finding, found: re.Match[str]) -> None:
    """Set the parameter of the group of Ray that holds the template."""
    group = at(root, finding.path[: finding.path.index("template")])
    group["rayStartParams"] = {**(group.get("rayStartParams") or {}), "plasma-directory": found[1]}


def let_ray_use(root: Json, finding: Finding, found: re.Match[str]) -> None:
    set_plasma_directory(root, finding, found)
    delete(root, finding, found)


def add_member(root: Json, finding: Finding, found: re.Match[str]) -> None:
    """Add the member that the remedy names."""
    at(root, finding.path)[found[1]] = yaml.safe_load(found[2])


def enable_discovery(root: Json, finding: Finding, _: re.Match[str]) -> None:
    """Deploy GPU feature discovery with the chart of a configuration."""
    at(root, finding.path[:-3])["gfd"] = {"enabled": True}


def add_beside(root: Json, finding: Finding, found: re.Match[str]) -> None:
    at(root, finding.path[:-1])[found[1]] = yaml.safe_load(found[2])


def rename_member(root: Json, finding: Finding, found: re.Match[str]) -> None:
    holder = at(root, finding.path[:-1])
    holder[found[1]] = holder.pop(finding.path[-1])


def move_below(root: Json, finding: Finding, found: re.Match[str]) -> None:
    node, value = root, at(root, finding.path[:-1]).pop(finding.path[-1])
    for step in found[1].split("."):
        node = node.setdefault(step, {})
    node[cast("str", finding.path[-1])] = value


def delete_entry(root: Json, finding: Finding, _: re.Match[str]) -> None:
    """Remove the element of a list that holds the value."""
    del at(root, finding.path[:-2])[finding.path[-2]]


CHANGES: list[tuple[str, str, tuple[Change, ...]]] = [
    ("GPS001", r"ask for (?:at most )?(\d+)(?:;.*|, or\b.*)?", (amount,)),
    ("GPS001", r".* by node affinity: (.*)", (require,)),
    ("GPS002", r"split the pod, or ask the administrator to raise limits\.perPod(?:;.*|, or\b.*)?", (split,)),
    ("GPS002", r".* by node affinity: (.*)", (require,)),
    ("GPS003", r"make both equal, or omit the request", (equal, omit_request)),
    ("GPS003", r"set it under limits, alone or with the same value", (move,)),
    ("GPS003", r"use a whole number, such as 1", (one,)),
    ("GPS003", r"move it into a container", (into_container,)),
    ("GPS003", r"write the amount, or render the template first", (one,)),
    ("GPS004", r"omit the variable, or set it to ([^;]*)(?:; on GKE, .*)?", (delete, matched)),
    ("GPS005", r"remove the mount; .*", (delete,)),
    ("GPS005", r"set plasma-directory: (\S+) in rayStartParams; .*", (set_plasma_directory,)),
    ("GPS005", r"remove the mount and set plasma-directory: (\S+) in rayStartParams; .*", (let_ray_use,)),
    ("GPS006", r"use 0 \(normal\) or 1 \(below normal\)|use 0 or 1", (assign("1"), assign("0"))),
    ("GPS006", r"use a number from 1 to 32", (assign("1"), assign("32"))),
    ("GPS006", r"use a percentage above 0 and up to 100", (assign("5"),)),
    ("GPS006", r"use at most (\d+) %, or omit it", (matched, delete)),
    ("GPS006", r"use at most (\d+) MiB, or omit it", (assign("0=1024M"), delete)),
    ("GPS006", r"use limits such as (0=4G)", (matched,)),
    ("GPS006", r"limit only devices that it gets, counted from 0", (assign("0=1G"),)),
    ("GPS007", r"omit it, or set it to (void)", (delete, matched)),
    ("GPS007", r"remove (?:the mount|privileged|\w+_VISIBLE_DEVICES); .*", (delete,)),
    ("GPS007", r"replace privileged with .*", (delete,)),
    ("GPS007", r"request a GPU, or omit runtimeClassName, or .*", (delete, void_everywhere, request_gpu)),
    ("GPS008", r"set runAsUser: (\d+)", (same_user,)),
    ("GPS008", r"set the same runAsUser in all of them", (same_user,)),
    ("GPS009", r"omit (\w+)", (field(None),)),
    ("GPS009", r"set (hostIPC): true", (field(True),)),
    ("GPS010", r"ask for (1), of a larger profile if need be, .*", (amount,)),
    ("GPS010", r"ask for one of them, or use two (?:pods|containers)", (first_only,)),
    ("GPS011", r"make the pod's nodeSelector agree with the class", (without_selectors,)),
    ("GPS011", r"name an existing class, or omit it", (assign("nvidia"), delete)),
    ("GPS011", r"name a class without a sandbox", (assign("nvidia"),)),
    ("GPS013", r"ask for (\S+?)(?:, or .*|, which nodes offer)?", (rename,)),
    ("GPS014", r"ask for at most (\d+)", (amount,)),
    ("GPS014", r"ask for at most (\d+) in all containers together", (shrink_together,)),
    ("GPS014", r"if the node is meant for such pods, tolerate (.*)", (tolerate,)),
    ("GPS014", r'set (\S+) to "([^"]*)" in the node selector, or remove it', (set_selector, drop_selector)),
    ("GPS014", r"remove (\S+) from the node selector", (drop_selector,)),
    ("GPS014", r"change or remove the expression on \S+ in the node affinity", (drop_expression,)),
    ("GPS014", r"omit (nodeName), or name a node that offers it", (field(None),)),
    ("GPS014", r"ask for it in a pod of its own", (delete,)),
    ("GPS014", r"make them agree", (without_selectors,)),
    ("GPS014", r"remove the selector, or ask for a shared GPU", (without_selectors, instead)),
    ("GPS014", r"remove the selectors that exclude these nodes", (without_selectors,)),
    ("GPS014", r"remove the selectors that exclude these nodes, or ask for (.*)", (without_selectors, instead)),
    ("GPS017", r"mount it elsewhere, .*", (assign("/elsewhere"),)),
    ("GPS018", r"use 0 \(normal\) or 1 \(below normal\), in quotes", (assign("0"), assign("1"))),
    ("GPS018", r"use a percentage above 0 and up to 100, in quotes", (assign("30"),)),
    ("GPS018", r"use limits such as (0=4G), in quotes", (matched,)),
    ("GPS018", r"use one of (\S+), .*", (delete,)),
    ("GPS020", r"require podAntiAffinity on kubernetes\.io/hostname(?:;.*|, or\b.*)?", (keep_apart,)),
    ("GPS020", r".* by node affinity: (.*)", (require,)),
    ("GPS020", r"lower (\S+) to (1), or set NCCL_MULTI_RANK_GPU_ENABLE=1 .*", (lower, enable_multi_rank)),
    ("GPS021", r"(?:ask for \d+, or )?lower (\S+) to (\d+)\b.*", (lower,)),
    ("GPS021", r"(?:ask for \d+, or )?lower (\S+) and what multiplies it\b.*", (lower,)),
    ("GPS021", r"ask for (\d+), or lower .*", (grant,)),
    ("GPS021", r"lower .* by node affinity: (.*), and ask for (\d+)", (grant,)),
    ("GPS024", r"set (\S+) to at most ([\d.]+)\b.*", (set_fraction,)),
    ("GPS024", r".* by node affinity: (.*)", (require,)),
    ("GPS025", r"ask the administrator .* by node affinity: (.*)", (require,)),
    ("GPS026", r"(?:omit|split) .*", (delete,)),
    ("GPS026", r"use one that ends in .*", (delete,)),
    ("GPS026", r"use the name of a container", (name_container,)),
    ("GPS026", r"use a quantity, such as (\S+)", (matched,)),
    ("GPS026", r"use (time-slicing) or sm-sharing", (matched,)),
    ("GPS026", r"raise the limit, or lower the request", (assign("1Mi"),)),
    ("GPS032", r"use (requests\.\S+)", (rename_member,)),
    ("GPS032", r"add (requests\.\S+)", (add_amount,)),
    ("GPS032", r"remove it, and name the amount in the pods that need a GPU", (delete,)),
    ("GPS032", r"remove it and (\w+), and name the amount in the pods that need a GPU", (delete_both,)),
    ("GPS032", r'set (\w+): \{(\S+): "0"\} beside it, or use a ResourceQuota instead', (default_of_none, delete)),
    ("GPS032", r"use a ResourceQuota instead", (drop_limits,)),
    ("GPS030", r"(?:write|put it) .*, or remove it", (delete,)),
    ("GPS030", r"remove it", (delete,)),
    ("GPS030", r"remove the block, or .*", (delete,)),
    ("GPS030", r"write (nvidia\.com/gpu)", (matched,)),
    ("GPS030", r"write (\S+), or another one of these", (matched,)),
    ("GPS030", r"write version: (v1)", (matched,)),
    ("GPS030", r"use (single) or none, .*", (matched,)),
    ("GPS030", r"set 2 or more, .*", (assign(2),)),
    ("GPS030", r"add (\w+): ([^,]+).*", (add_member,)),
    ("GPS031", r"remove it", (delete,)),
    ("GPS031", r"remove it, or (?:set|run|use) .*", (delete,)),
    ("GPS031", r"remove (?:them|timeSlicing or mps)", (delete,)),
    ("GPS031", r"name (nvidia\.com/gpu)", (matched,)),
    ("GPS031", r"name (nvidia\.com/gpu), or remove it", (matched, delete_entry)),
    ("GPS031", r"set at most (?:48|16)", (assign(16),)),
    ("GPS031", r"move it below (\S+).*", (move_below,)),
    ("GPS031", r"write (\w+)", (rename_member,)),
    ("GPS034", r"ask for at most (\d+), or raise .*", (amount,)),
    ("GPS034", r"ask for at most (\d+) in all containers together, or raise .*", (shrink_together,)),
    ("GPS033", r'use (?:one of )?"([^"]+)".*', (named,)),
    ("GPS033", r'set (default) to (?:one of )?"([^"]+)".*', (add_member,)),
    ("GPS033", r"remove it", (delete,)),
    ("GPS033", r"write (\w+)", (rename_member,)),
    ("GPS033", r"set (create): (true) beside it", (add_beside,)),
    ("GPS033", r"set gfd.enabled: true in these values", (enable_discovery,)),
    ("GPS023", r"move it to (\S+)", (move_amount,)),
    ("GPS023", r"use (\S+) (\S+)", (rename_kind,)),
]
"""By code, what a remedy says, and the changes that it names, each tried alone."""

NOT_IN_THE_MANIFEST = [
    ("GPS011", r"create it, or set injections\.runtimeClass\.name.*"),
    ("GPS011", r"set injections\.runtimeClass\.name to a class without a sandbox"),
    ("GPS011", r"set injections\.runtimeClass\.name to a class that selects nodes with GPUs, .*"),
    ("GPS012", r"use a namespace of the Pod Security level privileged"),
    ("GPS013", r"correct the name, or find out why .*"),
    ("GPS014", r"ask an administrator about the node if the state .*"),
    ("GPS011", r"set runtimeClassName: \S+, unless the runtime of the nodes needs no class"),
    ("GPS014", r"if it has GPUs, its device plugin does not run, .*"),
    ("GPS014", r"ask for it in another pod, or find out why .*"),
    ("GPS014", r"ask for \S+, which it offers"),
    ("GPS014", r"check selectors, affinity and taints against the nodes"),
    ("GPS018", r"ask the administrator .*"),
    ("GPS023", r"compare the amount with the limit; .*"),
    ("GPS031", r"if v\S+, which is not known to this program, is like v0\.20: remove it"),
    ("GPS019", r"recreate the pod .*"),
    ("GPS025", r"ask the administrator for the labels of sharing\.namespaces(?:; no node .*)?"),
    ("GPS025", r"add the namespace to the facts, or try again"),
    ("GPS033", r"add one with this name"),
    ("GPS033", r"put this text into a ConfigMap, .*"),
    ("GPS034", r"raise the amount .*"),
    ("GPS023", r"add .* to workloads\.(?:paths|presets)"),
    ("GPS023", r"check the (?:manifest|output|pods) .*"),
    ("GPS023", r"render the template, and check the result"),
]
"""Remedies for the administrator, or that name no change."""


def verdict(fixture: Fixture, manifest: Json) -> Verdict:
    group = group_of(manifest["apiVersion"])
    return evaluator_of(fixture).evaluate(manifest, group, manifest["kind"], origin_of(fixture))


@cache
def given(fixture: Fixture) -> tuple[Finding, ...]:
    """The findings in the fixture's object."""
    return verdict(fixture, fixture.object).findings


CREATED = [fixture for fixture in load_all() if fixture.operation == "CREATE" and not fixture.subresource]
CHANGES_OF = {
    code: [(pattern, changed) for known, pattern, several in CHANGES if known == code for changed in several]
    for code, _, _ in CHANGES
}
NO_WHOLE_CARDS = ("steering/every-configuration-shares", "GPS001")
"""The remedy holds only if the cluster has whole cards, and the known configurations of the plugin make none."""

CASES = [
    (fixture, code)
    for fixture in CREATED
    for code in sorted({finding["code"] for finding in fixture.expect.findings} & CHANGES_OF.keys())
    if (fixture.name, code) != NO_WHOLE_CARDS
]


def applied(fixture: Fixture, code: str, number: int) -> Json | None:
    """The object after one change for each finding of a code, from the last; None if the remedies name another."""
    pattern, change = CHANGES_OF[code][number]
    matches = [(one, re.fullmatch(pattern, one.remedy)) for one in given(fixture) if one.code == code]
    if not any(found for _, found in matches):
        return None
    manifest = copy.deepcopy(fixture.object)
    for finding, found in reversed(matches):
        if found is not None:
            change(manifest, finding, found)
    return manifest


@every_case(CASES, lambda case: f"{case[0].name} {case[1]}")
def test_applied_remedy_is_not_given_again(case: tuple[Fixture, str]) -> None:
    fixture, code = case
    before = {finding.remedy for finding in given(fixture) if finding.code == code}
    for number, (pattern, _) in enumerate(CHANGES_OF[code]):
        manifest = applied(fixture, code, number)
        if manifest is None:
            continue
        left = [
            finding
            for finding in verdict(fixture, manifest).findings
            if finding.code == code and finding.remedy in before and re.fullmatch(pattern, finding.remedy)
        ]
        assert left == [], (number, fixture.object, manifest)


def test_remedy_of_devices_hides_no_gpu() -> None:
    """A container that asks for a GPU and sets the variable to no device would get none."""
    for fixture, code in CASES:
        for number in range(len(CHANGES_OF[code]) if code == "GPS007" else 0):
            for spec in whole_specs(applied(fixture, code, number) or {}):
                for container in (*(spec.get("initContainers") or ()), *spec["containers"]):
                    limits = container.get("resources", {}).get("limits", {})
                    hides = NO_DEVICES in container.get("env", ())
                    assert not (hides and limits.get("nvidia.com/gpu")), (fixture.name, container)


def test_every_remedy_is_applied_or_not_in_the_manifest() -> None:
    for fixture in CREATED:
        for finding in given(fixture):
            known = [pattern for code, pattern, _ in CHANGES if code == finding.code]
            known += [pattern for code, pattern in NOT_IN_THE_MANIFEST if code == finding.code]
            assert any(re.fullmatch(pattern, finding.remedy) for pattern in known), (fixture.name, finding)


def test_every_change_is_tried() -> None:
    left = {(code, number) for code, changes in CHANGES_OF.items() for number in range(len(changes))}
    for fixture, code in CASES:
        left -= {(one, number) for one, number in left if one == code and applied(fixture, code, number) is not None}
    assert left == set()
