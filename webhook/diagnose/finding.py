"""A finding of `why` and `doctor`, and its remedy, prose with commands in it: as text, and as data for programs.

At the end, the checks of `doctor`, and the words that many of their findings have in common.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain, groupby
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar, Union

from webhook.cluster.installations import Installation
from webhook.cluster.stack import Program
from webhook.cluster.trusted import Part, Trust
from webhook.policy.messages import Command, Word, cut, printable
from webhook.policy.settings.formats import KIND, LABEL_KEY, LABEL_VALUE, NAMESPACE, OBJECT, Text
from webhook.report.lines import columns, first, hanging, wrapped

# Words of commands that name something of a cluster, each checked as the API server checks names of its kind.

_FORMS: Final[Mapping[str, Text]] = {
    "amount": LABEL_VALUE,
    "container": NAMESPACE,
    "namespace": NAMESPACE,
    "resource": LABEL_KEY,
    "taint": LABEL_KEY,
}
"""The forms of names by their nouns; those of others are DNS subdomains (RFC 1123)."""


def named(noun: str, name: str, form: Text | None = None) -> Word:
    """The name of an object, in the form of its noun unless it has another."""
    return Word(name, "" if (form or _FORMS.get(noun, OBJECT)).allows(name) else noun)


def namespace(name: str) -> Word:
    """The name of a namespace: a DNS label."""
    return named("namespace", name)


def reference(kind: str, name: str) -> Word:
    """A kind and a name, as in deployment/web."""
    is_kind = KIND.allows(kind)
    word = named(kind.lower() if is_kind else "object", name)
    return word._replace(text=f"{kind.lower()}/{name}", illegal=word.illegal if is_kind else "object")


def label(key: str, value: str) -> Word:
    """A label with its value, as in team=ml."""
    return Word(f"{key}={value}", "" if LABEL_KEY.allows(key) and LABEL_VALUE.allows(value) else "label")


def within(name: str) -> list[Word | str]:
    """The option for a namespace; nothing where it is not known, as in a file."""
    return ["-n", namespace(name)] if name else []


def qualified(kind: str, space: str, name: str) -> Word:
    """A namespace and the name of an object in it, as in gpu/plugin."""
    return Word(f"{space}/{name}", namespace(space).illegal or named(kind, name).illegal)


_PROSE: Final = 512
"""Characters of a piece of prose, which may quote a remedy of a check. A command is bounded by its names."""


class Remedy:
    """The parts of a remedy, which follow each other without a space. Empty where there is nothing to do."""

    __slots__ = ("parts",)

    def __init__(self, *parts: Advice) -> None:
        self.parts: tuple[str | Word | Command, ...] = tuple(_flat(parts))

    def __bool__(self) -> bool:
        return bool(self.parts)

    def __str__(self) -> str:
        return "".join(map(_shown, self.parts))

    @property
    def doubts(self) -> list[str]:
        """The names that are not legal, as data: the text of a remedy holds none of them."""
        of_parts = (() if isinstance(one, str) else one.doubts for one in self.parts)
        return list(dict.fromkeys(doubt for doubts in of_parts for doubt in doubts))

    def as_data(self) -> dict[str, Any]:
        """Return the text, and the commands in it as lists of words."""
        commands = [list(one.words) for one in self.parts if isinstance(one, Command) and one.words]
        return {"remedy": str(self), "commands": commands}

    def lines(self, head: str, width: int | None, indent: str) -> Iterator[str]:
        """Yield the lines of text after a head. A command continues after a backslash, so a shell runs all of it."""
        whole = str(self)
        if width is None or columns(head) + 1 + columns(whole) <= width:
            yield f"{head} {whole}"
            return
        for is_command, parts in groupby(self.parts, lambda one: isinstance(one, Command)):
            text = "".join(map(_shown, parts))
            if is_command:
                yield from _continued(f"{head} " if head else indent, shlex.split(text), width, indent)
            elif text := text.strip(" ") if head else text.strip(" ,;:"):
                yield from hanging(head, text, width, indent) if head else wrapped(text, width, indent)
            head = ""


Advice: TypeAlias = Union[str, Word, Command, "Remedy"]
"""What a remedy is made of. A `str` is prose, such as a check's remedy, which quotes names; a `Word` holds a name."""


_PIECE: Final = re.compile(r"(`[^`]*`|\{\w+\})", re.ASCII)
_NAME: Final = re.compile(r"\{(\w+)\}", re.ASCII)


def filled(template: str, find: Callable[[str], str | list[Any]]) -> Remedy:
    """Fill a template of a remedy: prose with `commands` between backquotes, and {names} in both.

    `find` returns the words that stand for a name, or the name of something of a cluster, whose noun it is. What a
    cluster says is never part of the template itself.
    """

    def words(piece: str) -> list[Any]:
        if (name := _NAME.fullmatch(piece)) is None:
            return [piece]
        value = find(name[1])
        return [named(name[1], value)] if isinstance(value, str) else value

    parts: list[Advice] = []
    for piece in _PIECE.split(template):
        is_command = piece.startswith("`")
        parts += [Command(*chain.from_iterable(map(words, shlex.split(piece[1:-1]))))] if is_command else words(piece)
    return Remedy(*parts)


def _flat(parts: tuple[Advice, ...]) -> Iterator[str | Word | Command]:
    for one in parts:
        if isinstance(one, Remedy):
            yield from one.parts
        elif one:
            yield one


def _continued(line: str, words: list[str], width: int, indent: str) -> Iterator[str]:
    """The lines of a command, after what the first one begins with. No word is broken."""
    has_words = False
    for word in map(shlex.quote, words):
        if has_words and columns(line) + columns(word) + len(" \\") > width:
            yield f"{line}\\"
            line = indent
        line, has_words = f"{line}{word} ", True
    yield line.rstrip(" ")


def _shown(part: str | Word | Command) -> str:
    if isinstance(part, Word):
        return "NAME" if part.illegal else part.text
    return printable(part, _PROSE) if isinstance(part, str) else str(part)


Severity = Literal["error", "warning", "info"]
"""How bad a finding is. `info` says that nothing is wrong."""

_LONGEST: Final = 1024
"""Characters of a text: an Event's message has as many at most."""

_MOST_EVIDENCE: Final = 12


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault: its subject, its cause in one line, what shows it, and the command or the edit that helps.

    `finding` is its name. `namespaces` are those of the objects that show it; empty if objects of the whole cluster do.
    `is_of_tenants`: tenants may use all of them, so that the finding may be forged. Empty evidence is left out. Names
    in the remedy that are not legal follow the evidence.
    """

    finding: str
    severity: Severity
    subject: str
    cause: str
    evidence: Sequence[str]
    remedy: Advice
    namespaces: tuple[str, ...] = ()
    is_of_tenants: bool = False

    def marked(self, administered: Set[str]) -> Finding:
        """The finding as it counts: one that tenants may have forged is a warning, and says where it comes from."""
        if not self.namespaces or not administered.isdisjoint(self.namespaces):
            return self
        return replace(self, severity="warning", is_of_tenants=True)

    def as_data(self) -> dict[str, Any]:
        """Return the fields of a report of `doctor`."""
        remedy, evidence = Remedy(self.remedy), [one for one in self.evidence if one]
        return {
            "finding": self.finding,
            "severity": self.severity,
            "subject": cut(self.subject, _LONGEST),
            "cause": cut(self.cause, _LONGEST),
            "evidence": [cut(one, _LONGEST) for one in (*evidence[:_MOST_EVIDENCE], *remedy.doubts)],
            **remedy.as_data(),
            "inTenantNamespace": self.is_of_tenants,
        }

    def lines(self, head: str, width: int | None, indent: str = "  ", status: str = "") -> Iterator[str]:
        """Yield the lines of text after a head. The name follows the cause, unless a line `status` does."""
        data, name = self.as_data(), "" if status else f" ({self.finding})"
        yield from hanging(head, printable(data["cause"], _LONGEST) + name, width, indent)
        if status:
            yield f"{indent}{status}"
        for one in data["evidence"]:
            yield from hanging(f"{indent}-", printable(one, _LONGEST), width, f"{indent}  ")
        if data["remedy"]:
            yield from Remedy(self.remedy).lines(f"{indent}do:", width, f"{indent}  ")


MOST: Final = 5
"""Lines of evidence about one object."""


class Check(NamedTuple):
    """A check of a cluster. `title` names its subject, and `needs` the parts that it cannot run without.

    `run` gets what was read: a `Seen`, or a `Stack` alone if the check is one of the chain of a node.
    """

    title: str
    needs: tuple[Part, ...]
    run: Callable[[Any], Iterator[Finding]]


Key = TypeVar("Key")
Member = TypeVar("Member")


def grouped(found: Iterable[tuple[Key, Member]]) -> dict[Key, list[Member]]:
    """What has the same key, in the order in which it was found: a finding is about all of it."""
    groups: dict[Key, list[Member]] = {}
    for key, member in found:
        groups.setdefault(key, []).append(member)
    return groups


def about(
    one: Program | Installation, finding: str, severity: Severity, cause: str, remedy: Advice, *evidence: str
) -> Finding:
    """A finding about a DaemonSet, or about an installation of the webhook."""
    return Finding(finding, severity, str(one), cause, evidence, remedy, (one.namespace,))


def unready(
    one: Program | Installation, finding: str, severity: Severity, cause: str, remedy: Advice, details: Sequence[str]
) -> Finding:
    """A finding about pods that are not ready, perhaps since an image cannot be pulled, by what the kubelet says."""
    if any(": ErrImage" in each or ": ImagePull" in each for each in details):
        cause += ": the kubelet cannot pull an image"
        remedy = Remedy("correct the image in the values of its chart, or set imagePullSecrets there; look at ", remedy)
    return about(one, finding, severity, cause, remedy, *details[:MOST])


def about_nodes(
    names: Sequence[str],
    finding: str,
    severity: Severity,
    cause: str,
    remedy: Advice,
    *evidence: str,
    of: Program | None = None,
) -> Finding:
    """A finding about nodes. `of` is the DaemonSet that shows it; None if the nodes do."""
    namespaces = () if of is None else (of.namespace,)
    return Finding(finding, severity, several(names), cause, (*evidence, f"nodes: {first(names)}"), remedy, namespaces)


def naming(space: str, name: str) -> Command:
    """The command that names the DaemonSet of the device plugin."""
    return Command("kubectl", "gpushare", "doctor", "--device-plugin-daemonset", qualified("daemonset", space, name))


def of_nodes(trust: Trust, one: Program, remedy: Advice) -> Advice:
    """A remedy that changes nodes as a DaemonSet wants it; how to confirm one that a tenant may have written."""
    if one.namespace in trust.administered:
        return remedy
    return Remedy("if you installed the DaemonSet, name it: ", naming(one.namespace, one.name))


def advice(template: str, one: Program | Installation | None = None, **names: Any) -> Remedy:
    """Fill a template (`filled`). {object} is the DaemonSet, or the Deployment, and {namespace} is its own."""
    if one is not None:
        kind = "DaemonSet" if isinstance(one, Program) else "Deployment"
        names = {"namespace": one.namespace, "object": [reference(kind, one.name)], **names}
    return filled(template, names.__getitem__)


def several(names: Sequence[str]) -> str:
    """The first of some names, and how many others there are: the subject of a finding about all of them."""
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
