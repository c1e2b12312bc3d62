"""Text that cannot be read: the error with its offset.

A placeholder of a template that is not rendered breaks YAML in some places: `template` recognizes them.
"""

from __future__ import annotations

import re

from webhook.diagnostics import Diagnostic
from webhook.manifests.position import SourceText
from webhook.policy.messages import printable

DEEPEST = 256
"""Levels of nesting: far more than any Kubernetes object needs, far fewer than the stack of a recursive reader."""

_LONGEST_QUOTE = 48
TOO_DEEP = f"nested deeper than {DEEPEST} levels"


class UnrenderedTemplate(Diagnostic):
    """A document that cannot be read because of a placeholder of a template."""

    __slots__ = ()


class UnreadableError(Exception):
    """A text that cannot be read, and the character offset of the reason."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


def quoted(text: str) -> str:
    """Return text of a file for a message: in quotes, shortened and sanitised."""
    return f'"{printable(text, _LONGEST_QUOTE)}"'


def given_twice(key: str, first_line: int, offset: int) -> UnreadableError:
    """Return the error for a mapping key that is given twice."""
    return UnreadableError(f"mapping key {quoted(key)} is given twice, first on line {first_line}", offset)


# At the start of a line, of a value, or of an item, YAML takes a placeholder for something else: {{ .Values.x }},
# {% if x %}, <% x %>, %{ if x } at the start of a line, and ${x} alone in a line or in brackets.
# Possessive, so that a long line costs no more than its length.
_PLACEHOLDER = re.compile(
    r"""^[ \t]*+(?:-[ \t]++)*+(?:[^\s"'#{\[][^"'#\n]*?:[ \t]++)?(\{\{|\{%|<%)"""
    r"|^[ \t]*+(%\{|\$\{[^}\n]*\}[ \t\r]*$)"
    r"|[\[{,][ \t]*+(\{\{|\{%|\$\{)",
    re.MULTILINE,
)
_MAY_HOLD = re.compile(r"[{%]{2}|\$\{|<%")
_HELM = re.compile(
    r"\.(?:Values|Release|Chart|Capabilities|Files)\b|\{\{-? *(?:include|define|template|toYaml|tpl|/\*)"
)
_AROUND = 1024
"""Characters before and after an error among which a placeholder explains it."""

_IS_HELM = "looks like an unrendered Helm template; pipe `helm template` and name -"
_IS_TEMPLATE = "looks like an unrendered template; render it first"


def template(file: str, text: SourceText, offset: int) -> UnrenderedTemplate | None:
    """Return the diagnostic for text that cannot be read at an offset, if that is because of a placeholder."""
    found = _placeholder(text.content, offset) if _MAY_HOLD.search(text.content) else None
    if found is None:
        return None
    is_helm = _HELM.search(text.content) or "/templates/" in file
    return UnrenderedTemplate(file, *text.position(found), _IS_HELM if is_helm else _IS_TEMPLATE)


def _placeholder(content: str, offset: int) -> int | None:
    """Return the offset of the first placeholder in the line of an error and the line with text before it.

    A placeholder may also begin far above, where it is a long comment that nothing has closed yet.
    """
    start = content.rfind("\n", max(0, offset - _AROUND), offset) + 1 or max(0, offset - _AROUND)
    before = content[max(0, start - _AROUND) : start].rstrip()
    start = max(0, start - _AROUND) + before.rfind("\n") + 1 if before else start
    end = content.find("\n", offset, offset + _AROUND)
    found = _PLACEHOLDER.search(content, start, end if end >= 0 else offset + _AROUND)
    if found:
        return found.start(found.lastindex or 0)
    opened = content.rfind("{{", 0, offset)
    return opened if opened > content.rfind("}}", 0, offset) else None
