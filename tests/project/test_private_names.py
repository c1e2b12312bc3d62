"""Private names stay inside their module or class: tests and product use public APIs only, their own included."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.project.repository import modules

# Accesses that have no public counterpart, each with its reason.
JUSTIFIED = {
    # A forked process must not flush what its parent has buffered.
    "webhook/cli/workers.py: os._exit",
    # The library reference documents it for exactly this use, debugging a deadlock; it has no other name.
    "webhook/server/observe/watchdog.py: sys._current_frames",
}
OF_NAMED_TUPLES = {"_asdict", "_fields", "_make", "_replace"}
"""Documented names, which begin with an underscore so that they differ from those of fields."""

BY_NAME = {"getattr", "setattr", "delattr", "hasattr"}


def is_private(word: str) -> bool:
    """A leading underscore marks a private name; Python itself defines `__dict__`, `_value_` of enums, and `_`."""
    return word.startswith("_") and not word.endswith("_") and word not in OF_NAMED_TUPLES


def declared(scope: ast.ClassDef) -> set[str]:
    """The private names that a class itself defines, as methods, fields, slots or attributes of `self`."""
    found: set[str] = set()
    for node in ast.walk(scope):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                found.add(node.name)
            case ast.Attribute(value=ast.Name(id="self"), ctx=ast.Store()):
                found.add(node.attr)
            case ast.AnnAssign(target=ast.Name(id=field)):
                found.add(field)
    return found


def accesses(node: ast.AST, own: frozenset[str] = frozenset()) -> Iterator[ast.AST]:
    """The nodes that reach for a private name from outside: `own` are the names of the classes around the node."""
    if isinstance(node, ast.ClassDef):
        own |= declared(node)
    match node:
        case ast.Attribute(value=ast.Name(id="self" | "cls")):
            pass
        case ast.Attribute(attr=attribute) if is_private(attribute) and attribute not in own:
            yield node
        case ast.Import(names=names) if any(is_private(part) for one in names for part in one.name.split(".")):
            yield node
        case ast.ImportFrom(module=module, names=names):
            if any(map(is_private, [*(module or "").split("."), *(one.name for one in names)])):
                yield node
        case ast.Call(func=ast.Name(id=function) | ast.Attribute(attr=function)) if function in BY_NAME:
            texts = [one.value for one in node.args[:2] if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            if any(is_private(text.rpartition(".")[2]) for text in texts):
                yield node
    for child in ast.iter_child_nodes(node):
        yield from accesses(child, own)


@pytest.mark.parametrize(
    "source",
    [
        "server._socket",
        "server.acceptor._socket.close()",
        "server._state = 1",
        "from webhook.server.reload import _POLL",
        "from yaml._yaml import CParser",
        "import yaml._yaml",
        "getattr(server, '_socket', None)",
        "monkeypatch.setattr(reload, '_POLL', 0.01)",
        "monkeypatch.setattr('webhook.server.reload._POLL', 0.01)",
        "class A:\n    def f(self, other): return other._x",
        "class A:\n    def f(self): self._x = 1\ndef g(a: A): return a._x",
    ],
)
def test_private_access_is_found(source: str) -> None:
    assert len(list(accesses(ast.parse(source)))) == 1


@pytest.mark.parametrize(
    "source",
    [
        "from __future__ import annotations",
        "server.__class__.__name__",
        "monkeypatch.setattr(reload, 'POLL', 0.01)",
        "gettext._",
        "member._value_ = 1",
        "class A:\n    def f(self): return self._x",
        "class A:\n    @classmethod\n    def f(cls):\n        made = cls()\n        made._x()\n    def _x(self): ...",
        "class A:\n    _x: int\n    def __lt__(self, other: A): return self._x < other._x",
    ],
)
def test_public_access_is_accepted(source: str) -> None:
    assert [ast.unparse(node) for node in accesses(ast.parse(source))] == []


def test_no_private_name_is_used_from_outside() -> None:
    found = {f"{module}: {ast.unparse(node)}" for module, tree in modules().items() for node in accesses(tree)}
    assert not found - JUSTIFIED, "\n".join(sorted(found - JUSTIFIED))
    assert not JUSTIFIED - found, f"these accesses are gone, remove them from the list: {sorted(JUSTIFIED - found)}"
