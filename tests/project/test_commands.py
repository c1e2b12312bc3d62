"""Commands in the text of the product are of the type `Command`, which quotes words and refuses illegal names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.project.repository import modules

PROGRAM = re.compile(r"(?<![\w.-])(?:kubectl|helm|systemctl|nvidia-ctk)(?![\w.-])")
COMMAND = re.compile(
    r"(?<![\w.-])(?:kubectl|helm|systemctl|nvidia-ctk|gpushare-webhook)(?: +-[-\w]+(?: +\S+)?)* +(?:annotate|apply|"
    r"audit|auth|check|config|cordon|create|debug|delete|describe|disable|doctor|drain|edit|enable|exec|explain|export|"
    r"expose|get|gpushare|install|kustomize|label|logs|mutate|patch|plan|reload|replace|restart|rollback|rollout|run|runtime|"
    r"scale|set|snapshot|start|stop|taint|template|top|uncordon|uninstall|upgrade|wait|why)\b"
)


TEMPLATE = re.compile("`[^`]*`")
"""A command in a template of `webhook.diagnose.finding.filled`, which makes a `Command` of it."""


def docstrings(tree: ast.AST) -> set[ast.AST]:
    """Docstrings, and the strings below names: pages and comments, and no output."""
    return {
        node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def words(tree: ast.AST) -> set[ast.AST]:
    """The strings that are words of a command, alone or in a tuple or a list among them."""
    makers = ("Command", "kubectl", "in_namespace", "of_deployment")
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    named = (call for call in calls if getattr(call.func, "attr", getattr(call.func, "id", "")) in makers)
    return {one for call in named for argument in call.args for one in ast.walk(argument)}


def texts(tree: ast.AST) -> Iterator[tuple[int, str, bool]]:
    """The texts outside of the type: the line, the text, and whether the program fills something in."""
    skipped = docstrings(tree) | words(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield (
                node.lineno,
                "".join(str(one.value) if isinstance(one, ast.Constant) else "{}" for one in node.values),
                True,
            )
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("format", "join", "replace"):
            made = getattr(node.func, "value", None)
            if isinstance(made, ast.Constant) and isinstance(made.value, str):
                yield node.lineno, made.value, True
        elif isinstance(node, ast.BinOp):
            for side in (node.left, node.right):
                if isinstance(side, ast.Constant) and isinstance(side.value, str):
                    yield node.lineno, side.value, True
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in skipped:
            yield node.lineno, node.value, False


def built(tree: ast.AST, *, is_live: bool) -> list[str]:
    """The texts that build a command; in `webhook.diagnose`, whose text is for people, also program names.

    A template is allowed where the program fills nothing in: what a cluster says is then no part of it.
    """
    return [
        f"{line}: {text}"
        for line, text, is_filled in texts(tree)
        if (is_filled and COMMAND.search(text))
        or (is_live and PROGRAM.search(text if is_filled else TEMPLATE.sub("", text)))
    ]


def test_no_text_builds_a_command() -> None:
    found = modules("webhook")
    assert len(found) > 100
    wrong = {path: built(tree, is_live=path.startswith("webhook/diagnose/")) for path, tree in found.items()}
    assert {path: lines for path, lines in wrong.items() if lines} == {}


def test_no_path_of_a_request_is_built_outside_its_type() -> None:
    wrong = [
        f"{path}:{line}"
        for path, tree in modules("webhook").items()
        for line, text, is_filled in texts(tree)
        if is_filled and re.match(r"/api/|/apis/[^{}]*\{\}/|.*/namespaces/\{\}", text)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "line",
    [
        'f"kubectl delete pod {name}"',
        'f"do: kubectl -n {name} get pods"',
        'f"then systemctl restart {name}"',
        'f"helm upgrade {name}"',
        '"kubectl delete pod %s" % name',
        '"kubectl delete pod " + name',
        '"kubectl edit {}".format(name)',
        'f"then `kubectl edit {name}`"',
    ],
)
def test_lint_finds_command(line: str) -> None:
    assert len(built(ast.parse(line), is_live=False)) == 1


@pytest.mark.parametrize("line", ['NEXT = {"a": "kubectl get nodes"}', 'Cause("a", "`restart` it with systemctl")'])
def test_lint_finds_text_in_live(line: str) -> None:
    assert len(built(ast.parse(line), is_live=True)) == 1


@pytest.mark.parametrize(
    "line",
    [
        'Command("kubectl", "edit", name)',
        'Remedy("or: ", Command("kubectl", "get"))',
        '"""As kubectl get."""',
        '"then `kubectl edit {node}`"',
    ],
)
def test_lint_allows_command(line: str) -> None:
    assert built(ast.parse(line), is_live=True) == []
