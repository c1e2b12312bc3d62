"""ConfigMaps and Secrets that a kustomization generates from files, literals and files of variables."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from hashlib import sha256
from posixpath import basename
from typing import NamedTuple

from webhook.manifests.kustomize.nodes import Node, text_of

Load = Callable[[Node], tuple[str, bytes]]
"""Returns the name and the content of a file that a kustomization names. Raises UnbuiltError."""

_SOURCES = ("files", "literals", "envs", "env")


class Generated(NamedTuple):
    """A generated object, how it joins one of the same name, and whether a hash of its content ends its name.

    `size` is that of its content, in characters or bytes.
    """

    node: Node
    behavior: str
    is_hashed: bool
    size: int


def generated(kind: str, entry: Node, defaults: Node | None, load: Load) -> Generated:
    """Return the object of an entry of `configMapGenerator` or `secretGenerator`. Raises UnbuiltError."""
    name, behavior = entry.get("name"), entry.members.get("behavior", "create")
    if name is None or not isinstance(name.value, str):
        raise entry.error("the generator has no `name`")
    behavior = behavior if behavior in ("merge", "replace") else "create"
    node = Node({"apiVersion": "v1", "kind": kind, "metadata": {}}, entry.source).put(("metadata", "name"), name)
    if (namespace := entry.get("namespace")) is not None:
        node = node.put(("metadata", "namespace"), namespace)
    if kind == "Secret":
        node = node.holding({"type": entry.get("type") or Node("Opaque", entry.source)})
    options = [one for one in (defaults, entry.get("options")) if one is not None]
    for one in options:
        for field in ("labels", "annotations"):
            for key, value in one.pairs(field):
                node = node.put(("metadata", field, key), value)
    size = 0
    for key, value in _pairs(entry, load):
        if key in node.members.get("data", {}) or key in node.members.get("binaryData", {}):
            raise entry.error("the generator gives a key twice")
        content = value.value
        size += len(content)
        if kind == "Secret" or isinstance(content, bytes):
            data = content if isinstance(content, bytes) else content.encode()
            value = value._replace(value=b64encode(data).decode())
        node = node.put(("binaryData" if kind != "Secret" and isinstance(content, bytes) else "data", key), value)
    is_hashed = not any(one.members.get("disableNameSuffixHash") is True for one in options)
    return Generated(node, behavior, is_hashed, size)


def _pairs(entry: Node, load: Load) -> Iterator[tuple[str, Node]]:
    """Yield the keys and their values: text, or bytes that are no UTF-8."""
    for field in _SOURCES:
        found = entry.get(field)
        for one in [] if found is None else [found] if field == "env" else found.items():
            if not isinstance(one.value, str):
                raise one.error(f"an item of `{field}` must be text")
            key, sign, value = one.value.partition("=")
            if field == "literals":
                if not key or not sign:
                    raise one.error("a literal must be of the form key=value")
                is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
                yield key, one._replace(value=value[1:-1] if is_quoted else value)
            elif field == "files":
                if sign and not (key and value):
                    raise one.error("a file must be of the form path, or key=path")
                yield key if sign else basename(key), _content(*load(one._replace(value=value if sign else key)))
            else:
                yield from _variables(one, *load(one))


def _content(file: str, data: bytes) -> Node:
    try:
        return text_of(file, data.decode())
    except UnicodeDecodeError:
        return text_of(file, "")._replace(value=data)


def _variables(entry: Node, file: str, data: bytes) -> Iterator[tuple[str, Node]]:
    try:
        lines = data.decode().removeprefix("\ufeff").splitlines()
    except UnicodeDecodeError:
        raise entry.error("the file of variables is not UTF-8 text") from None
    whole = text_of(file, "")
    for line in lines:
        key, _, value = line.lstrip().partition("=")
        if key and not key.startswith("#"):
            yield key, whole._replace(value=value)


_LETTERS = str.maketrans("013ae", "ghkmt")
_ESCAPED = (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026"), ("\u2028", "\\u2028"), ("\u2029", "\\u2029"))


def hashed_suffix(node: Node) -> str:
    """Return the end of the name of a generated object: the hash of its content (kustomize, api/hasher/hasher.go)."""
    kind = node.value["kind"]
    fields = ("data", "binaryData") if kind == "ConfigMap" else ("type", "data", "stringData")
    hashed = {"kind": kind, "name": "", "data": ""} | {key: node.value[key] for key in fields if key in node.value}
    text = json.dumps(hashed, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    for character, escape in _ESCAPED:
        text = text.replace(character, escape)
    return "-" + sha256(text.encode(errors="replace")).hexdigest()[:10].translate(_LETTERS)
