"""Formats of single values: which values are allowed, how a message describes them, and the remedy for a wrong one.

Durations and sizes are text with units in a file, seconds and bytes in the program. The types at the end carry the
formats. The dataclasses of the policy name these types in annotations alone, and import them under TYPE_CHECKING:
defaults need no formats.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, get_args

from webhook.policy.messages import printable

_LARGE = 10**15
_SHOWN = 110
"""Characters of a text that a message quotes."""


class Format(ABC):
    """What one value may be. It stands in the annotation of a field: `Annotated[int, Range(0, 65535)]`.

    The program holds a value as the file spells it, unless the format reads and writes it in another way.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def description(self) -> str:
        """The end of the sentence "must be ..."."""

    @abstractmethod
    def allows(self, held: object) -> bool:
        """Whether the program may hold this value."""

    def read(self, value: object) -> Any:
        """The value that the program holds for one of a file. Raises ValueError if the format does not allow it."""
        if not self.allows(value):
            raise ValueError(self.description)
        return value

    def write(self, held: Any) -> Any:
        """The value as a file spells it."""
        return held

    @abstractmethod
    def remedy(self, value: object) -> str:
        """What to do about a wrong value in a file; empty when there is nothing to add to the description."""


@dataclass(frozen=True, slots=True)
class Text(Format):
    """Text of at most `longest` characters: all of it matches `pattern`, and does not match `but_not`.

    The JSON Schema carries both patterns, so they use only what Go, Rust and ECMAScript know too: no lookaheads.
    """

    description: str = "text"
    pattern: str = r"(?:.|\n)*"
    longest: int = 4096
    but_not: str = ""

    def allows(self, held: object) -> bool:
        return isinstance(held, str) and len(held) <= self.longest and self._matches(held)

    def _matches(self, text: str) -> bool:
        excluded = self.but_not and re.fullmatch(self.but_not, text)
        return not excluded and re.fullmatch(self.pattern, text) is not None

    def remedy(self, value: object) -> str:
        """Quotes for a number that would be right as text; a shorter text."""
        if isinstance(value, str):
            return f"it is longer than {self.longest} characters" if len(value) > self.longest else ""
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return "put it in quotes" if number and self._matches(str(value)) else ""


@dataclass(frozen=True, slots=True)
class Flag(Format):
    """true, false or a word; without `word`, true or false alone."""

    word: str = ""

    @property
    def description(self) -> str:
        return f'true, false or "{self.word}"' if self.word else "true or false"

    def allows(self, held: object) -> bool:
        return isinstance(held, bool) or (self.word != "" and held == self.word)

    def remedy(self, value: object) -> str:
        """No quotes around a word that YAML reads as a boolean, or the nearest word."""
        if not isinstance(value, str):
            return ""
        if value.lower() in ("true", "false", "yes", "no", "on", "off"):
            return "leave out the quotes"
        return did_you_mean(value, (self.word,)) if self.word else ""


@dataclass(frozen=True, slots=True)
class Range(Format):
    """A whole number from `least` to `most`, both included."""

    least: int
    most: int = 2**31 - 1

    @property
    def description(self) -> str:
        return f"a whole number from {self.least} to {self.most}"

    def allows(self, held: object) -> bool:
        return isinstance(held, int) and not isinstance(held, bool) and self.least <= held <= self.most

    def remedy(self, value: object) -> str:
        return "leave out the quotes" if isinstance(value, str) and value.strip().isdecimal() else ""


@dataclass(frozen=True, slots=True)
class Choice(Format):
    """One of a few words. `also` holds other spellings, each with the word that it stands for."""

    words: tuple[str, ...]
    also: tuple[tuple[object, str], ...] = ()

    @property
    def description(self) -> str:
        quoted = [f'"{word}"' for word in self.words]
        return f"{', '.join(quoted[:-1])} or {quoted[-1]}" if len(quoted) > 1 else quoted[0]

    def allows(self, held: object) -> bool:
        return isinstance(held, str) and held in self.words

    def read(self, value: object) -> Any:
        """The word itself, or the one that another spelling stands for. Raises ValueError."""
        return Format.read(self, next((word for spelling, word in self.also if value is spelling), value))

    def remedy(self, value: object) -> str:
        """Quotes around a number, or the nearest word."""
        if isinstance(value, int | float) and str(value) in self.words:
            return "put it in quotes"
        return did_you_mean(value, self.words) if isinstance(value, str) else ""


def refusal(form: Format, value: object) -> str:
    """Why a format does not allow a value of a file, and what to do."""
    remedy = form.remedy(value)
    return f"must be {form.description}, not {shown(value)}" + (f"; {remedy}" if remedy else "")


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """A question with the nearest of the known words; empty when none is near."""
    from difflib import get_close_matches  # only for what is wrong

    folded = {one.lower(): one for one in known}
    near = get_close_matches(word.lower(), folded, 1, cutoff=0.7)
    return f'did you mean "{folded[near[0]]}"?' if near else ""


def shown(value: object) -> str:
    """A value as a message shows it."""
    if isinstance(value, str):
        return f'"{printable(value, _SHOWN)}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return "so large a number" if abs(value) >= _LARGE else str(value)
    if value is None:
        return "null"
    return "a mapping" if isinstance(value, Mapping) else "a list"


_MILLISECONDS = {"h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
_BYTES = {"Gi": 2**30, "Mi": 2**20, "Ki": 2**10, "G": 10**9, "M": 10**6, "k": 10**3, "": 1}
_MOST_HOURS = 8760
_MOST_BYTES = 10**12 * 2**30

SIZE_TEXT = Text(pattern=r"0*[1-9][0-9]{0,11}(?:Ki|Mi|Gi|k|M|G)?", longest=40)
"""A size with its unit."""

SIZE_NUMBER = Range(1, 10**12 - 1)
"""A size as a number of bytes."""


@dataclass(frozen=True, slots=True)
class Duration(Format):
    """A duration such as `5s`, `1h30m` or `500ms`, held in seconds. The finest unit is the millisecond."""

    may_be_zero: bool = False

    @property
    def description(self) -> str:
        return f"a duration {'' if self.may_be_zero else 'above zero '}such as 5s, 1h30m or 500ms"

    @property
    def text(self) -> Text:
        """The format of its text; the text may still stand for more than a year."""
        return Text(self.description, "(?:[0-9]{1,11}(?:h|ms|m|s))+", 40, "" if self.may_be_zero else "[^1-9]*")

    def allows(self, held: object) -> bool:
        number = isinstance(held, int | float) and not isinstance(held, bool)
        return number and (0 if self.may_be_zero else 0.001) <= held <= _MOST_HOURS * 3600  # type: ignore[operator]

    def read(self, value: object) -> float:
        """The seconds that a text stands for. Raises ValueError."""
        if not (isinstance(value, str) and self.text.allows(value) and _milliseconds(value) <= _MOST_HOURS * 3_600_000):
            raise ValueError(self.description)
        return _milliseconds(value) / 1000

    def write(self, held: Any) -> str:
        """The duration in the largest unit that divides it."""
        milliseconds = round(held * 1000)
        if milliseconds == 0:
            return "0s"
        unit = next(unit for unit, worth in _MILLISECONDS.items() if milliseconds % worth == 0)
        return f"{milliseconds // _MILLISECONDS[unit]}{unit}"

    def remedy(self, value: object) -> str:
        """A unit after a bare number; the longest duration."""
        if isinstance(value, int) and not isinstance(value, bool):
            return "add the unit"
        return f"{_MOST_HOURS}h is the most" if self.text.allows(value) else self.text.remedy(value)


def _milliseconds(text: str) -> int:
    return sum(int(count) * _MILLISECONDS[unit] for count, unit in re.findall("([0-9]+)([a-z]+)", text))


@dataclass(frozen=True, slots=True)
class Size(Format):
    """A size such as `7Mi`, `512Ki` or `100000`, held in bytes."""

    description: str = "a size such as 7Mi, 512Ki or 100000 (bytes)"

    def allows(self, held: object) -> bool:
        return Range(1, _MOST_BYTES).allows(held)

    def read(self, value: object) -> int:
        """The bytes that a text or a number stands for. Raises ValueError."""
        if isinstance(value, int) and SIZE_NUMBER.allows(value):
            return value
        if not (isinstance(value, str) and SIZE_TEXT.allows(value)):
            raise ValueError(self.description)
        digits = value.rstrip("KMGik")
        return int(digits) * _BYTES[value[len(digits) :]]

    def write(self, held: Any) -> str:
        """The size in the largest unit that divides it."""
        unit = next(unit for unit, worth in _BYTES.items() if held % worth == 0)
        return f"{held // _BYTES[unit]}{unit}"

    def remedy(self, value: object) -> str:
        return SIZE_TEXT.remedy(value) if isinstance(value, str) else ""


_LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(?:\.{_LABEL})*"
_NAME = "(?:[A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]"
_KEY = f"(?:{_SUBDOMAIN}/)?{_NAME}"
_LONG_PREFIX = "[^/]{254,}/.*"

ANY = Text()
NAMESPACE = Text("a namespace's name: lowercase letters, digits and dashes", _LABEL, 63)
PLUGIN_VERSION = Text(
    "a version of the device plugin such as v0.20.0", r"v?[0-9]{1,9}\.[0-9]{1,9}(?:[.+-][-0-9A-Za-z.+]*)?", 63
)
NAMESPACED_NAME = Text("namespace/name of an object", f"{_LABEL}/{_SUBDOMAIN}", 317, "[^/]{64,}/.*")
CODE = Text("a check's code", "GPS[0-9]{3}")
"""`webhook.settings` narrows it to the codes of registered checks."""

SomeText: TypeAlias = Annotated[str, Text("text that is not empty", r"(?:.|\n)+")]
ResourceName: TypeAlias = Annotated[
    str,
    Text(
        "an extended resource's name such as nvidia.com/gpu",
        # Quotas put `requests.` before the domain, so that it is 9 characters shorter than others
        # (kubernetes/kubernetes pkg/apis/core/helper IsExtendedResourceName).
        f"{_SUBDOMAIN}/{_NAME}",
        308,
        but_not=r"requests\..*|[^/]*kubernetes\.io/.*|[^/]{245,}/.*",
    ),
]
LabelKey: TypeAlias = Annotated[str, Text("a label's key such as example.com/team", _KEY, 317, _LONG_PREFIX)]
LabelValue: TypeAlias = Annotated[str, Text("a label's value such as a100", f"(?:{_NAME})?", 63)]
TaintKey: TypeAlias = Annotated[str, Text("a taint's key such as nvidia.com/gpu", _KEY, 317, _LONG_PREFIX)]
TaintKeyPattern: TypeAlias = Annotated[
    str, Text("a taint's key, in which * stands for any text", "[-A-Za-z0-9_./*]+", 317)
]
OptOutLabel: TypeAlias = Annotated[
    str,
    Text("a label such as example.com/no-mps or example.com/mps=off", f"{_KEY}(?:=(?:{_NAME})?)?", 381, _LONG_PREFIX),
]
OptOutAnnotation: TypeAlias = Annotated[
    str,
    Text(
        "an annotation such as example.com/no-mps or example.com/mps=off",
        rf"{_KEY}(?:=(?:.|\n)*)?",
        but_not=r"[^/=]{254,}/(?:.|\n)*",
    ),
]
NamespaceName: TypeAlias = Annotated[str, NAMESPACE]
NamespacePattern: TypeAlias = Annotated[
    str, Text("a namespace's name, in which * stands for any text", "[-a-z0-9*]+", 63)
]
ObjectName: TypeAlias = Annotated[
    str, Text("an object's name: lowercase letters, digits, dashes and dots", _SUBDOMAIN, 253)
]
PluginVersion: TypeAlias = Annotated[str, PLUGIN_VERSION]
NamespacedName: TypeAlias = Annotated[str, NAMESPACED_NAME]
ClassPattern: TypeAlias = Annotated[
    str, Text("a RuntimeClass's or handler's name, in which * stands for any text", "[-a-z0-9.*]+", 253)
]
KindName: TypeAlias = Annotated[str, Text("a kind such as JobSet", "[A-Z][A-Za-z0-9]*", 63)]
ApiGroup: TypeAlias = Annotated[str, Text("an API group such as jobset.x-k8s.io, or empty", f"(?:{_SUBDOMAIN})?", 253)]
ApiVersion: TypeAlias = Annotated[str, Text("an API version such as v1alpha2", "v[0-9]+(?:(?:alpha|beta)[0-9]+)?", 63)]
ResourcePlural: TypeAlias = Annotated[str, Text("a resource such as jobsets", "[a-z](?:[-a-z0-9]*[a-z0-9])?", 63)]
TemplatePath: TypeAlias = Annotated[
    str,
    Text(
        "a path such as spec.replicatedJobs[*].template",
        r"[A-Za-z][A-Za-z0-9_-]*(?:\[\*\])?(?:\.(?:\*|[A-Za-z][A-Za-z0-9_-]*(?:\[\*\])?))*",
    ),
]
Folder: TypeAlias = Annotated[
    str,
    Text(
        "an absolute path below / without : and without . or .. as a part",
        r"(?:/[^/:\x00-\x1f]+)+/?",
        but_not=r".*/\.{1,2}(?:/.*)?",
    ),
]
Host: TypeAlias = Annotated[
    str, Text("an address or a host name such as 0.0.0.0, :: or localhost", r"[A-Za-z0-9_.:%-]+", 253)
]
Code: TypeAlias = Annotated[str, CODE]

Count: TypeAlias = Annotated[int, Range(1)]
"""A whole number above zero."""

Amount: TypeAlias = Annotated[int, Range(0)]
"""A whole number, zero included."""

Units: TypeAlias = Annotated[int, Range(0, 2**63 - 1)]
"""An amount of a resource in a cluster, which has validated it."""

TaintEffect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
Mode = Literal["enforce", "warn", "audit"]
Level = Literal["privileged", "baseline", "restricted"]
HostIpc: TypeAlias = Annotated[bool | Literal["required"], Flag("required")]

SeverityName = Literal["deny", "warn", "audit", "off"]
# YAML as kubectl and Helm read it takes a bare `off` for false, and a bare `on` for true.
Severities: TypeAlias = Mapping[Code, Annotated[SeverityName, Choice(get_args(SeverityName), ((False, "off"),))]]

InjectionModeName = Literal["on", "report", "off"]
InjectionMode: TypeAlias = Annotated[
    InjectionModeName, Choice(get_args(InjectionModeName), ((True, "on"), (False, "off")))
]

Seconds: TypeAlias = Annotated[float, Duration()]
"""A duration above zero."""

Delay: TypeAlias = Annotated[float, Duration(may_be_zero=True)]
"""A duration that may be zero."""

Bytes: TypeAlias = Annotated[int, Size()]
"""A size."""
