"""Placeholders that a template engine, a shell or a controller replaces before the API server sees the value."""

from __future__ import annotations

import re

_PLACEHOLDER = re.compile(r"\{\{|\$\{|\$\(|\A\$[A-Za-z_][A-Za-z0-9_]*\Z", re.ASCII)
"""`{{…}}` of Helm, Argo and Jinja, `${…}` of shells, Terraform and Flux, `$(…)` of Tekton and OpenShift, `$NAME`."""


def is_placeholder(value: object) -> bool:
    """Whether a value is text with a placeholder in it."""
    return isinstance(value, str) and _PLACEHOLDER.search(value) is not None
