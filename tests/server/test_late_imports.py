"""No request imports a module: what functions on its path import, the server imports before."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.project.test_imports import product_modules

ELSEWHERE = {
    ("webhook.policy.settings.formats", "difflib"),
    ("webhook.manifests.sources", "webhook.manifests.folders"),
    ("webhook.manifests.sources", "webhook.manifests.git"),
}
"""Imports that no request reaches: mistyped words and changes of settings, positions and folders."""


def late(tree: ast.AST) -> Iterator[str]:
    """The modules that functions import."""
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    for node in (node for function in functions for node in ast.walk(function)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            submodules = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from [name for name in submodules if name in product_modules()] or [node.module]


def late_imports(loaded: set[str]) -> set[tuple[str, str]]:
    """The loaded modules of the product, each with what its functions import."""
    return {
        (module, imported) for module, tree in product_modules().items() if module in loaded for imported in late(tree)
    }


@pytest.mark.slow
def test_server_imports_what_functions_on_the_path_of_requests_import() -> None:
    program = "import json, sys, webhook.server.app; print(json.dumps(list(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    loaded = set(json.loads(ended.stdout))
    found = late_imports(loaded)
    assert ("webhook.policy.launchers.find", "webhook.policy.launchers.programs") in found
    missing = {(module, imported) for module, imported in found if imported not in loaded}
    assert missing == ELSEWHERE, "import it in webhook/server/reviews.py"
