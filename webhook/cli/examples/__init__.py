"""The examples of the checks and injections, one module for each: texts for `explain` and the reference.

They are not part of the checks, so that no review and no run of `check` loads them.
"""

from __future__ import annotations

from importlib import import_module

from webhook.cli.examples.example import Example


def examples_of(name: str) -> tuple[Example, ...]:
    """The examples of the check with this code or the injection of this name. Raises ModuleNotFoundError if none."""
    found: tuple[Example, ...] = import_module(f"{__name__}.{name.lower()}").EXAMPLES
    return found
