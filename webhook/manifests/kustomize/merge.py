"""Patches of objects: strategic merges and JSON patches (RFC 6902), with the results of kustomize.

A strategic merge follows kyaml (kubernetes-sigs/kustomize, kyaml/yaml/merge2 and kyaml/yaml/walk): the items that a
patch names come first, and lists of kinds that Kubernetes does not define are replaced.
"""

from __future__ import annotations

from typing import Any

from webhook.manifests.kustomize.nodes import Node

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

_OF_SERVICE = ("port", "protocol")
_DIRECTIVE = "$patch"
_DIRECTIVES = ("delete", "merge", "replace")


def merged(base: Node, patch: Node) -> Node | None:
    """Return an object with a strategic merge patch; None if the patch deletes it. Raises UnbuiltError."""
    return _value(base, patch, "", is_known=False)


def _value(base: Node | None, patch: Node, field: str, *, is_known: bool) -> Node | None:
    """Return the value of a field. `is_known`: it is part of a kind of Kubernetes, whose lists have keys."""
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
    directive = patch.value.get(_DIRECTIVE)
    if directive is not None:
        if directive not in _DIRECTIVES:
            raise patch.at(_DIRECTIVE).error("the patch has an unknown directive")
        patch = patch.without(_DIRECTIVE)
    if directive == "delete":
        return None
    result = patch if base is None or base.value is None or directive == "replace" else base
    holder = result.members if "kind" in result.members else patch.members
    is_known = is_known or _is_known(holder)
    changed: dict[str, Node] = {}
    removed = []
    for key in patch.value:
        inner = result.at(key) if key in result.value and result is not patch else None
        value = _value(inner, patch.at(key), key, is_known=is_known)
        if value is None:
            removed.append(key)
        else:
            changed[key] = value
    return result.holding(changed).without(*removed)


def _is_known(value: dict[str, Any]) -> bool:
    version, kind = value.get("apiVersion"), value.get("kind")
    group = version.rpartition("/")[0] if isinstance(version, str) else "."
    return isinstance(kind, str) and ("." not in group or group.endswith(".k8s.io"))


def _shape(value: object) -> type:
    return dict if isinstance(value, dict) else list if isinstance(value, list) else str


def _list(base: Node | None, patch: Node, field: str) -> Node | None:
    """Return a list whose items have keys: those of the patch, merged and in its order, then the others."""
    items = patch.items()
    directive = next((one.value[_DIRECTIVE] for one in items if one.members.keys() == {_DIRECTIVE}), None)
    if directive is not None:
        if directive not in _DIRECTIVES:
            raise patch.error("the patch has an unknown directive")
        items = [one for one in items if one.members.keys() != {_DIRECTIVE}]
    if directive == "delete":
        return None
    held = [] if base is None or directive == "replace" else base.items()
    first: dict[object, Node] = {}
    for one in held:
        first.setdefault(_key(one, field), one)
    result: dict[object, Node] = {}
    deleted = set()
    for one in items:
        key = _key(one, field)
        same = None if key is None else first.get(key)
        if same is not None and one.members.get(_DIRECTIVE) == "replace":
            value: Node | None = same  # for kustomize, the item of the object wins
        else:
            value = one if key is None or not isinstance(one.value, dict) else _value(same, one, "", is_known=True)
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
        keys = _OF_SERVICE
    if members.get(keys[0]) is None:
        return None
    values = [members.get(key) for key in keys]
    return tuple("TCP" if value is None else str(value) for value in values)


def applied(node: Node, operations: Node) -> Node:
    """Return an object with the operations of a JSON patch. Raises UnbuiltError where one does not apply."""
    for operation in operations.items():
        node = _operation(node, operation)
    return node


def _operation(node: Node, operation: Node) -> Node:
    """Return the object with one operation (RFC 6902, 4)."""
    members = operation.members
    name, path = members.get("op"), _steps(operation, "path")
    value = operation.at("value") if "value" in members else Node(None, operation.source)
    match name:
        case "add" | "replace" | "remove":
            return _changed(node, path, name, value, operation)
        case "move":
            source = _steps(operation, "from")
            found = _found(node, source, operation)
            return _changed(_changed(node, source, "remove", value, operation), path, "add", found, operation)
        case "test":
            if _found(node, path, operation).value != value.value:
                raise operation.error("the test of the patch fails")
            return node
    # A few copies of objects into themselves would make one of any size.
    raise operation.error("the operation of the patch is not followed")


_DEEPEST = 64
"""Steps of a pointer: a value is at most that much deeper than the deepest document."""


def _steps(operation: Node, field: str) -> list[str]:
    pointer = operation.members.get(field)
    if not isinstance(pointer, str) or not pointer.startswith("/"):
        raise operation.error(f"the operation has no `{field}` that begins with a slash")
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/")]
    if len(steps) > _DEEPEST:
        raise operation.error(f"the pointer has more than {_DEEPEST} steps")
    return steps


def _found(node: Node, path: list[str], operation: Node) -> Node:
    for step in path:
        node = node.at(_step(node, step, operation))
    return node


def _step(node: Node, step: str, operation: Node) -> str | int:
    """Return the key or the index of a value that exists."""
    if isinstance(node.value, list):
        if step.isascii() and step.isdigit() and len(step) < 10 and int(step) < len(node.value):
            return int(step)
    elif step in node.members:
        return step
    raise operation.error("the path of the operation leads nowhere in the object")


def _changed(node: Node, path: list[str], name: str, value: Node, operation: Node) -> Node:
    step, *rest = path
    if rest:
        key = _step(node, step, operation)
        inner = _changed(node.at(key), rest, name, value, operation)
        if isinstance(key, str):
            return node.holding({key: inner})
        items = node.items()
        items[key] = inner
        return node.of_items(items)
    if isinstance(node.value, list):
        items = node.items()
        if name == "add" and (step == "-" or step == str(len(items))):
            items.append(value)
            return node.of_items(items)
        index = int(_step(node, step, operation))
        items[index : index + (name != "add")] = [] if name == "remove" else [value]
        return node.of_items(items)
    if not isinstance(node.value, dict):
        raise operation.error("the path of the operation leads nowhere in the object")
    if name == "remove":
        _step(node, step, operation)
    return node.without(step) if name == "remove" else node.holding({step: value})
