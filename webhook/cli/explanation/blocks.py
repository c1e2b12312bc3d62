"""The parts of an explanation, without a format.

Backticks in a text mark code, as in Markdown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text."""

    text: str


@dataclass(frozen=True, slots=True)
class Items:
    """A list of short texts."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Term:
    """A line of a list of names, such as that of all checks. `note` is a word about it."""

    name: str
    note: str
    text: str


@dataclass(frozen=True, slots=True)
class Terms:
    """A list of names with their texts."""

    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Links:
    """Sources, as `webhook.policy.description` defines them."""

    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class File:
    """The content of a YAML file. No line of it is ever changed."""

    label: str
    content: str


@dataclass(frozen=True, slots=True)
class Report:
    """Findings, each as lines that begin with its position."""

    label: str
    findings: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Setting:
    """A key of the settings file: its path, what it does, and its default."""

    path: tuple[str, ...]
    description: str
    default: Any


@dataclass(frozen=True, slots=True)
class Defaults:
    """Settings with their defaults, shown as the part of a settings file that has them."""

    settings: tuple[Setting, ...]


Block: TypeAlias = Paragraph | Items | Terms | Links | File | Report | Defaults


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, and what follows it."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A title, a sentence or two about its scope, and sections."""

    title: str
    lead: str
    sections: tuple[Section, ...]
