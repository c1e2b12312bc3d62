"""The examples of the checks, one module for each code: texts for `explain` and the reference.

They are not part of the checks, so that no review and no run of `check` loads them.
"""

from __future__ import annotations

from importlib import import_module

from webhook.cli.examples.example import Example


def examples_of(code: str) -> tuple[Example, ...]:
    """The examples of the check with this code. Raises ModuleNotFoundError if it has none."""
    found: tuple[Example, ...] = import_module(f"{__name__}.{code.lower()}").EXAMPLES
    return found
