"""What a document is that is no Kubernetes object: why it is skipped in a folder, and what to do where it is named."""

from __future__ import annotations

import re
from dataclasses import replace
from enum import StrEnum
from fnmatch import fnmatchcase
from posixpath import basename, dirname
from typing import NamedTuple

from webhook.diagnostics import Diagnostic, Unread
from webhook.manifests.files import NOT_REGULAR, shown
from webhook.manifests.text import SourceText
from webhook.policy.messages import Command
from webhook.policy.pods.reading import type_of
from webhook.policy.verdict import Path


class Reason(StrEnum):
    """Why a file of a folder is not read."""

    EXCLUDED = "excluded by --exclude"
    IGNORED = "ignored by git"
    GIT = "part of git's own folder"
    LINK = "a link to a folder"
    OUTSIDE = "a link out of the folder"
    IRREGULAR = NOT_REGULAR
    CHART = "part of a Helm chart"
    KUSTOMIZATION = "a kustomization that is not built in full"
    PART = "part of a kustomization"
    TEMPLATE = "an unrendered template"
    OURS = "settings, facts or a report of gpushare-webhook"
    REVIEW = "a review without an object to check"
    OTHER = "not a Kubernetes object"

    def skips(self, file: str, instead: str = "") -> Unread:
        """Return the entry of a file, or of a folder as a whole, that is not read for this reason."""
        return Unread(file, self.value, self in _MAY_HIDE and file.endswith(_OF_MANIFESTS), instead)


_MAY_HIDE = (
    *(Reason.IGNORED, Reason.LINK, Reason.OUTSIDE, Reason.IRREGULAR),
    *(Reason.CHART, Reason.KUSTOMIZATION, Reason.TEMPLATE),
)
"""Reasons by which a change keeps an object from being checked. Of the other files the API server accepts nothing."""


class Stranger(NamedTuple):
    """A document that is no Kubernetes object: why it is skipped in a folder, and the message where it is named.

    `path` leads to the value that the message is about.
    """

    reason: Reason
    message: str
    path: Path = ()


CHART_FILE = "Chart.yaml"
KUSTOMIZATION = ("kustomize.config.k8s.io", "Kustomization")
FRAGMENT = ("kustomize.config.k8s.io", "Patch")
"""The kind, known to this project only, of a part of an object: no kind says what its members mean."""

KUSTOMIZATION_FILES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
EXTENSIONS = (".json", ".jsonl", ".ndjson", ".yaml", ".yml")
"""What the names of manifests end in."""
_OF_MANIFESTS = (*EXTENSIONS, "/Kustomization", "/")
"""The ends of the names of folders, and of files that may hold manifests."""

OUR_FILE = ".gpushare.yaml"
"""The settings file of a repository."""

OUR_GROUP = "gpushare-webhook/"


def is_values_file(name: str) -> bool:
    """Return whether a file holds values of a chart by its name."""
    return fnmatchcase(name, "*values*.y*ml")


def recognized(file: str, value: object) -> Stranger | None:
    """Return what a document is that is not meant for the API server; None for an object, even an incomplete one.

    Whatever its kind, kustomize, Flux and Argo CD take an object with "items" for a list, and apply them.
    """
    if not isinstance(value, dict):
        objects = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
        if any(isinstance(item.get("apiVersion"), str) and isinstance(item.get("kind"), str) for item in objects):
            return None  # A list of objects is a mistake.
        return Stranger(Reason.OTHER, f"a document must be a mapping with apiVersion and kind, not {type_of(value)}")
    version, kind = value.get("apiVersion"), value.get("kind")
    if not isinstance(version, str):
        # Tools number the versions of their files, and have kinds such as `pipeline`; Kubernetes capitalizes its kinds.
        is_kind = isinstance(kind, str) and not kind[:1].islower()
        return None if is_kind else _without_header(file, value)
    if version.startswith(OUR_GROUP) and "items" not in value:
        return _ours(kind)
    if kind is None and "items" not in value:
        if "name" in value and ("version" in value or basename(file) == CHART_FILE):
            return Stranger(Reason.CHART, "describes a Helm chart; pipe `helm template` and name -")
        if "entries" in value:
            return Stranger(Reason.OTHER, "the index of a repository of Helm charts: it holds no object")
    return None


def is_review(value: object) -> bool:
    """Return whether a document is an AdmissionReview (admission.k8s.io), and no list (see `recognized`)."""
    if not isinstance(value, dict) or value.get("kind") != "AdmissionReview" or "items" in value:
        return False
    version = value.get("apiVersion")
    return isinstance(version, str) and version.startswith("admission.k8s.io/")


def _without_header(file: str, value: dict[str, object]) -> Stranger:
    if basename(file) in KUSTOMIZATION_FILES:
        folder = dirname(file) or "."
        return Stranger(Reason.KUSTOMIZATION, f"a kustomization; pipe `{_build(folder)}` and name -")
    if basename(file) == OUR_FILE:
        return _ours("Settings")
    if is_values_file(basename(file)):
        return Stranger(Reason.CHART, "the values of a Helm chart; pipe `helm template` and name -")
    if isinstance(value.get("services"), dict):
        return Stranger(Reason.OTHER, "no `kind`: not a Kubernetes object; it looks like a file of Docker Compose")
    return Stranger(Reason.OTHER, "no `kind` and no `apiVersion`: not a Kubernetes object")


_OURS = {
    "Settings": "settings of gpushare-webhook; pass them with --config",
    "Facts": "facts of gpushare-webhook; pass them with --facts",
    "CheckReport": "a report of gpushare-webhook; pass it with --baseline",
}


def _ours(kind: object) -> Stranger:
    message = _OURS.get(kind) if isinstance(kind, str) else None
    return Stranger(Reason.OURS, message or "a file of gpushare-webhook, not a Kubernetes object")


def unbuilt(file: str, why: Diagnostic | None = None) -> Unread:
    """Return the entry that says of a kustomization that it is not built, why, and which command does that."""
    folder = dirname(shown(file)) or "."
    command = f"{_build(folder)} | {Command('gpushare-webhook', 'check', '-')}"
    return replace(Reason.KUSTOMIZATION.skips(f"{folder}/", command), why=str(why or ""))


def _build(folder: str) -> Command:
    return Command("kubectl", "kustomize", folder)


def unrendered(file: str, values: bytes | Diagnostic) -> Unread:
    """Return the entry of the values of a chart, with the command that renders it."""
    chart = Command("helm", "template", dirname(shown(file)) or ".")
    entry = Reason.CHART.skips(shown(file), f"{chart} | {Command('gpushare-webhook', 'check', '-')}")
    return replace(entry, names_gpu=isinstance(values, bytes) and b"nvidia.com/" in values)


class UnrenderedTemplate(Diagnostic):
    """A document that cannot be read because of a placeholder of a template."""


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
