"""Random changes of the product's modules, each of which a test should notice."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

PRODUCT = "webhook"

_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
}  # fmt: skip
_NOT_RUN = ("annotation", "returns", "decorator_list")


class Change(NamedTuple):
    """A change that is possible: what it is, in which line, and the value that a field of a node gets."""

    what: str
    line: int
    node: ast.AST
    field: str
    value: Any


class Mutation(NamedTuple):
    """A changed module: its package, its path below the repository, and its source, both without comments."""

    package: str
    path: Path
    change: Change
    before: str
    after: str

    def __str__(self) -> str:
        lines = difflib.unified_diff(self.before.splitlines(), self.after.splitlines(), lineterm="", n=1)
        return "\n".join([f"{self.path}:{self.change.line}: {self.change.what}", *islice(lines, 3, None)])


def mutations(root: Path, seed: int) -> Iterator[Mutation]:
    """Mutations without end, of one package after the other: the same ones for the same seed."""
    chance = Random(seed)  # noqa: S311 - nothing is secret
    sites: dict[str, list[tuple[Path, int]]] = {}
    for path in sorted((root / PRODUCT).rglob("*.py")):
        package, *rest = path.relative_to(root / PRODUCT).parts
        count = sum(1 for _ in changes(ast.parse(path.read_text())))
        sites.setdefault(package if rest else "", []).extend((path, index) for index in range(count))
    for package in cycle(sorted(sites)):
        path, index = chance.choice(sites[package])
        tree = ast.parse(path.read_text())
        before = ast.unparse(tree)
        change = next(islice(changes(tree), index, None))
        setattr(change.node, change.field, change.value)
        yield Mutation(package, path.relative_to(root), change, before, ast.unparse(tree))


def changes(node: ast.AST) -> Iterator[Change]:
    """The changes that are possible in a tree."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.expr | ast.comprehension):
        yield from _of_expression(node)
    else:
        yield from _of_statement(node)
    for field, value in ast.iter_fields(node):
        if field not in _NOT_RUN:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from changes(child)


def _of_expression(node: ast.expr | ast.comprehension) -> Iterator[Change]:
    match node:
        case ast.Compare(ops=[operator, *rest]) if type(operator) in _OPPOSITES:
            yield Change("another comparison", node.lineno, node, "ops", [_OPPOSITES[type(operator)](), *rest])
        case ast.BoolOp(values=values):
            for index, operand in enumerate(values):
                yield Change("an operand less", operand.lineno, node, "values", _with(values, index))
        case ast.IfExp():
            yield from _fixed(node, True, False)
        case ast.comprehension(ifs=[condition, *_]):
            yield Change("no condition", condition.lineno, node, "ifs", [])
        case ast.BinOp(op=ast.Add()):
            yield Change("another operator", node.lineno, node, "op", ast.Sub())
        case ast.BinOp(op=ast.Sub()):
            yield Change("another operator", node.lineno, node, "op", ast.Add())
        case ast.Constant(value=bool() as value):
            yield Change("another constant", node.lineno, node, "value", not value)
        case ast.Constant(value=int() | float() as value):
            for other in (value + 1, value - 1):
                yield Change("another constant", node.lineno, node, "value", other)


def _of_statement(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.If():
            yield from _fixed(node, True, False)
        case ast.While():
            yield from _fixed(node, False)
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield Change("no result", node.lineno, node, "value", ast.Constant(None))
        case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body):
            for index, statement in enumerate(body):
                if index and not isinstance(statement, ast.Return):
                    yield Change("an early return", statement.lineno, node, "body", [*body[:index], ast.Return()])
    for field in ("body", "orelse", "finalbody"):
        statements = getattr(node, field, [])
        for index, statement in enumerate(statements):
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call | ast.Await):
                yield Change("a call less", statement.lineno, node, field, _with(statements, index, ast.Pass()))


def _fixed(node: ast.If | ast.IfExp | ast.While, *values: bool) -> Iterator[Change]:
    for value in values:
        yield Change("a fixed condition", node.lineno, node, "test", ast.Constant(value))


def _with(nodes: Sequence[ast.AST], index: int, *others: ast.AST) -> list[ast.AST]:
    """The nodes, with others in place of one."""
    return [*nodes[:index], *others, *nodes[index + 1 :]]
