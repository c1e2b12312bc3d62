"""Patches and the objects that they are about: strategic merges and JSON patches (RFC 6902), as in kustomize.

A strategic merge follows kyaml (kubernetes-sigs/kustomize, kyaml/yaml/merge2 and kyaml/yaml/walk): the items that a
patch names come first, and lists of kinds that Kubernetes does not define are replaced.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from webhook.manifests.kustomize.nodes import Node
from webhook.manifests.kustomize.resources import Identity, Resource

_KEYS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("containers", "initContainers", "ephemeralContainers", "env", "volumes", "webhooks"), ("name",)),
    **dict.fromkeys(("imagePullSecrets", "resourceClaims", "schedulingGates", "secrets"), ("name",)),
    "hostAliases": ("ip",),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
    "ports": ("containerPort", "protocol"),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "conditions": ("type",),
    "ownerReferences": ("uid",),
    "finalizers": (),
}
"""The keys by which the items of lists are merged, by the fields of the kinds of Kubernetes (`patchMergeKey`).

Without keys, the items themselves are compared.
"""

_DIRECTIVE = "$patch"


def merged(base: Node | None, patch: Node, field: str = "", *, is_known: bool = False) -> Node | None:
    """Return an object with a strategic merge patch; None if the patch deletes it. Raises UnbuiltError.

    So are the values of fields. `is_known`: they are part of a kind of Kubernetes, whose lists have keys.
    """
    if patch.value is None:
        return None
    if base is not None and base.value is not None and _shape(base.value) is not _shape(patch.value):
        raise patch.error("the patch has a value of another type than the object")
    if isinstance(patch.value, dict):
        return _mapping(base, patch, is_known=is_known)
    if isinstance(patch.value, list) and is_known and field in _KEYS:
        return _list(base, patch, field)
    return patch


def _mapping(base: Node | None, patch: Node, *, is_known: bool) -> Node | None:
    directive = _directive(patch)
    patch = patch.without(_DIRECTIVE)
    if directive == "delete":
        return None
    result = patch if base is None or base.value is None or directive == "replace" else base
    holder = result.members if "kind" in result.members else patch.members
    version, kind = holder.get("apiVersion"), holder.get("kind")
    group = version.rpartition("/")[0] if isinstance(version, str) else "."
    is_known = is_known or (isinstance(kind, str) and ("." not in group or group.endswith(".k8s.io")))
    values: dict[str, Node | None] = {}
    for key in patch.value:
        inner = result.at(key) if key in result.value and result is not patch else None
        values[key] = merged(inner, patch.at(key), key, is_known=is_known)
    changed = {key: one for key, one in values.items() if one is not None}
    return result.holding(changed).without(*(values.keys() - changed.keys()))


def _directive(patch: Node) -> str | None:
    found: str | None = patch.members.get(_DIRECTIVE)
    if found not in (None, "delete", "merge", "replace"):
        raise patch.at(_DIRECTIVE).error("the patch has an unknown directive")
    return found


def _shape(value: object) -> type:
    return dict if isinstance(value, dict) else list if isinstance(value, list) else str


def _list(base: Node | None, patch: Node, field: str) -> Node | None:
    """Return a list whose items have keys: those of the patch, merged and in its order, then the others."""
    items = patch.items()
    directive = next((_directive(one) for one in items if one.members.keys() == {_DIRECTIVE}), None)
    items = [one for one in items if one.members.keys() != {_DIRECTIVE}]
    if directive == "delete":
        return None
    held = [] if base is None or directive == "replace" else base.items()
    first = {_key(one, field): one for one in reversed(held)}
    result: dict[object, Node] = {}
    deleted = set()
    for one in items:
        key = _key(one, field)
        same = None if key is None else first.get(key)
        value: Node | None = one
        if key is not None and isinstance(one.value, dict):
            # With the directive to replace, kustomize keeps the item of the object.
            is_kept = same is not None and one.members.get(_DIRECTIVE) == "replace"
            value = same if is_kept else merged(same, one, is_known=True)
        if value is None:
            deleted.add(key)
        else:
            result.setdefault(key if key is not None else (id(one),), value)
    for one in held:
        key = _key(one, field)
        # Of items with one key, the last is kept, as it stands in the object.
        if key is None:
            result[id(one),] = one
        elif key not in deleted and (key not in result or one is not first[key]):
            result[key] = one
        elif key in result and len(_KEYS[field]) > 1:
            result[key] = result.pop(key)
    return (base or patch).of_items(list(result.values()))


def _key(item: Node, field: str) -> object:
    """Return what an item is found by, as text; None for an item that lacks it."""
    keys, members = _KEYS[field], item.members
    if not keys:
        return str(item.value)
    if field == "ports" and "containerPort" not in members:
        keys = ("port", "protocol")  # of a Service
    if members.get(keys[0]) is None:
        return None
    return tuple("TCP" if (value := members.get(key)) is None else str(value) for key in keys)


_DEEPEST = 64
"""Steps of a pointer: a value is at most that much deeper than the deepest document."""


def applied(node: Node, operations: Node) -> Node:
    """Return an object with the operations of a JSON patch. Raises UnbuiltError where one does not apply."""
    for operation in operations.items():
        name, pointer = operation.members.get("op"), operation.members.get("path")
        if name not in ("add", "replace", "remove"):
            # A few copies of objects into themselves would make one of any size.
            raise operation.error("the operation of the patch is not followed")
        if not isinstance(pointer, str) or not pointer.startswith("/"):
            raise operation.error("the operation has no `path` that begins with a slash")
        steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/")]
        if len(steps) > _DEEPEST:
            raise operation.error(f"the pointer has more than {_DEEPEST} steps")
        if name == "add" and steps[:2] == ["metadata", "annotations"] and node.get(*steps[:2]) is None:
            node = node.put(steps[:2], Node({}, operation.source))  # kustomize makes this mapping, and no other one
        node = _changed(node, steps, name, operation)
    return node


def _changed(node: Node, path: list[str], name: str, operation: Node) -> Node:
    """Return a value with an operation at a path in it (RFC 6902, 4)."""
    step, *rest = path
    value = operation.get("value") or Node(None, operation.source)
    items = node.items()
    key: str | int = step
    if isinstance(node.value, list):
        if not rest and name == "add" and step in ("-", "-1", str(len(items))):
            return node.of_items([*items, value])
        key = int(step) if re.fullmatch("-?[0-9]{1,9}", step) else len(items)  # -1 is the last one
        key += len(items) if key < 0 and (rest or name != "add") else 0
    exists = 0 <= key < len(items) if isinstance(key, int) else key in node.members
    if not exists and (rest or name == "remove" or not isinstance(node.value, dict)):
        raise operation.error("the path of the operation leads nowhere in the object")
    new = _changed(node.at(key), rest, name, operation) if rest else None if name == "remove" else value
    if isinstance(key, int):
        items[key : key + (bool(rest) or name != "add")] = [] if new is None else [new]
        return node.of_items(items)
    return node.without(key) if new is None else node.holding({key: new})


_PATTERN = re.compile(
    r"(?:[\w/:-]|\\[.-]|\[[A-Za-z0-9._]+-?\]|\[(?:[A-Za-z]-[A-Za-z]|\d-\d)+-?\]|\((?!\?)|[.|)^$*+?])*", re.ASCII
)
_MOST_CHOICES = 2
"""Groups and repetitions of a pattern: the time to match a name grows with their power."""

_LONGEST = 253
"""Characters of a name, and of a pattern."""


def selector(target: Node) -> Callable[[Resource], bool]:
    """Return whether objects are the target of a patch, by regular expressions. Raises UnbuiltError."""
    for key in ("labelSelector", "annotationSelector"):
        if target.members.get(key):
            raise target.at(key).error(f"`{key}` is not followed")
    patterns = {key: one for key in Identity._fields if (one := _pattern(target, key)) is not None}

    def selects(resource: Resource) -> bool:
        now, first = resource.now, resource.identities[0]
        return all(
            any(
                len(text := getattr(one, key)) <= _LONGEST and pattern.fullmatch(text)
                for one in ((now, first) if key in ("name", "namespace") else (now,))
            )
            for key, pattern in patterns.items()
        )

    return selects


def _pattern(target: Node, key: str) -> re.Pattern[str] | None:
    """Return an expression that means the same to RE2, and that a name matches or not in little time."""
    text = target.members.get(key)
    if text is None or text == "":
        return None
    text = re.sub(r"(?:\.\*)+", ".*", text) if isinstance(text, str) else "{"
    choices = sum(text.count(one) for one in "(*+?")
    if not _PATTERN.fullmatch(text) or len(text) > _LONGEST or choices > _MOST_CHOICES:
        raise target.at(key).error(f"the expression of the target's {key} is not followed")
    try:
        return re.compile(text)
    except re.error:
        raise target.at(key).error(f"the target's {key} is not a regular expression") from None
