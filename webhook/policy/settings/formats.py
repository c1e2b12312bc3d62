"""Formats of single values: which values are allowed, how a message describes them, and the remedy for a wrong one.

Durations and sizes are text with units in a file, seconds and bytes in the program. The types at the end carry the
formats. The dataclasses of the policy name these types in annotations alone, and import them under TYPE_CHECKING:
defaults need no formats.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NamedTuple

from webhook.policy.messages import printable

_LARGE = 10**15
_SHOWN = 110
"""Characters of a text that a message quotes."""


class Text(NamedTuple):
    """Text of at most `longest` characters: all of it matches `pattern`, and does not match `but_not`.

    The JSON Schema carries both patterns, so they use only what Go, Rust and ECMAScript know too: no lookaheads.
    """

    description: str = "text"
    pattern: str = r"(?:.|\n)*"
    longest: int = 4096
    but_not: str = ""

    def allows(self, value: object) -> bool:
        """Whether a value has the format."""
        return isinstance(value, str) and len(value) <= self.longest and self._matches(value)

    def _matches(self, text: str) -> bool:
        excluded = self.but_not and re.fullmatch(self.but_not, text)
        return not excluded and re.fullmatch(self.pattern, text) is not None

    def remedy(self, value: object) -> str:
        """Quotes for a number that would be right as text; a shorter text."""
        if isinstance(value, str):
            return f"it is longer than {self.longest} characters" if len(value) > self.longest else ""
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return "put it in quotes" if number and self._matches(str(value)) else ""


class Range(NamedTuple):
    """A whole number from `least` to `most`, both included."""

    least: int
    most: int = 2**31 - 1

    @property
    def description(self) -> str:
        return f"a whole number from {self.least} to {self.most}"

    def remedy(self, value: object) -> str:
        return "leave out the quotes" if isinstance(value, str) and value.strip().isdecimal() else ""


class Spellings(NamedTuple):
    """Words among which true and false may be: as words themselves, or as spellings of those that they stand for."""

    of: tuple[tuple[bool, str], ...] = ()


def must_be(description: str, value: object, remedy: str) -> str:
    """The sentence about a wrong value."""
    return f"must be {description}, not {shown(value)}" + (f"; {remedy}" if remedy else "")


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """A question with the nearest of the known words; empty when none is near."""
    from difflib import get_close_matches  # only for what is wrong

    folded = {name.lower(): name for name in known}
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


class Duration(NamedTuple):
    """A duration such as `5s`, `1h30m` or `500ms`, held in seconds. The finest unit is the millisecond."""

    may_be_zero: bool = False

    @property
    def description(self) -> str:
        return f"a duration {'' if self.may_be_zero else 'above zero '}such as 5s, 1h30m or 500ms"

    @property
    def text(self) -> Text:
        """The format of its text; the text may still stand for more than a year."""
        return Text(self.description, "(?:[0-9]{1,11}(?:h|ms|m|s))+", 40, "" if self.may_be_zero else "[^1-9]*")

    def read(self, value: object) -> float:
        """The seconds that a text stands for. Raises ValueError."""
        if not (isinstance(value, str) and self.text.allows(value) and _milliseconds(value) <= _MOST_HOURS * 3_600_000):
            raise ValueError(self.description)
        return _milliseconds(value) / 1000

    @staticmethod
    def write(seconds: float) -> str:
        """The duration in the largest unit that divides it."""
        milliseconds = round(seconds * 1000)
        return _in_largest(milliseconds, _MILLISECONDS) if milliseconds else "0s"

    def remedy(self, value: object) -> str:
        """A unit after a bare number; the longest duration."""
        if isinstance(value, int) and not isinstance(value, bool):
            return "add the unit"
        return f"{_MOST_HOURS}h is the most" if self.text.allows(value) else ""


def _milliseconds(text: str) -> int:
    return sum(int(count) * _MILLISECONDS[unit] for count, unit in re.findall("([0-9]+)([a-z]+)", text))


def _in_largest(amount: int, units: Mapping[str, int]) -> str:
    unit = next(unit for unit, worth in units.items() if amount % worth == 0)
    return f"{amount // units[unit]}{unit}"


class Size:
    """A size such as `7Mi`, `512Ki` or `100000`, held in bytes."""

    text = Text("a size such as 7Mi, 512Ki or 100000 (bytes)", r"0*[1-9][0-9]{0,11}(?:Ki|Mi|Gi|k|M|G)?", 40)
    number = Range(1, 10**12 - 1)
    description = text.description

    def read(self, value: object) -> int:
        """The bytes that a text or a number stands for. Raises ValueError."""
        text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if not (isinstance(text, str) and self.text.allows(text)):
            raise ValueError(self.description)
        digits = text.rstrip("KMGik")
        return int(digits) * _BYTES[text[len(digits) :]]

    @staticmethod
    def write(size: int) -> str:
        """The size in the largest unit that divides it."""
        return _in_largest(size, _BYTES)

    def remedy(self, value: object) -> str:
        return self.text.remedy(value) if isinstance(value, str) else ""


_LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(?:\.{_LABEL})*"
_NAME = "(?:[A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]"
_KEY = f"(?:{_SUBDOMAIN}/)?{_NAME}"
_LONG_PREFIX = "[^/]{254,}/.*"

NAMESPACE = Text("a namespace's name: lowercase letters, digits and dashes", _LABEL, 63)
OBJECT = Text("an object's name: lowercase letters, digits, dashes and dots", _SUBDOMAIN, 253)
KIND = Text("a kind such as JobSet", "[A-Z][A-Za-z0-9]*", 63)
LABEL_KEY = Text("a label's key such as example.com/team", _KEY, 317, _LONG_PREFIX)
LABEL_VALUE = Text("a label's value such as a100", f"(?:{_NAME})?", 63)
NAMESPACED_NAME = Text("namespace/name of an object", f"{_LABEL}/{_SUBDOMAIN}", 317, "[^/]{64,}/.*")
CODE = Text("a check's code", "GPS[0-9]{3}")
"""`webhook.settings` narrows it to the codes of registered checks."""

SomeText = Annotated[str, Text("text that is not empty", r"(?:.|\n)+")]
Line = Annotated[str, Text("text on one line", r"[^\x00-\x1f\x7f]+", 256)]
"""`webhook.settings.schema` narrows it to characters that can be printed."""

WebAddress = Annotated[
    str, Text("an address such as https://example.com/gpus#{code}", r"https?://[0-9A-Za-z\[][!-~]*", 256)
]
ResourceName = Annotated[
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
LabelKey = Annotated[str, LABEL_KEY]
LabelValue = Annotated[str, LABEL_VALUE]
TaintKey = Annotated[str, Text("a taint's key such as nvidia.com/gpu", _KEY, 317, _LONG_PREFIX)]
TaintKeyPattern = Annotated[str, Text("a taint's key, in which * stands for any text", "[-A-Za-z0-9_./*]+", 317)]
OptOutLabel = Annotated[
    str,
    Text("a label such as example.com/no-mps or example.com/mps=off", f"{_KEY}(?:=(?:{_NAME})?)?", 381, _LONG_PREFIX),
]
OptOutAnnotation = Annotated[
    str,
    Text(
        "an annotation such as example.com/no-mps or example.com/mps=off",
        rf"{_KEY}(?:=(?:.|\n)*)?",
        but_not=r"[^/=]{254,}/(?:.|\n)*",
    ),
]
NamespaceName = Annotated[str, NAMESPACE]
NamespacePattern = Annotated[str, Text("a namespace's name, in which * stands for any text", "[-a-z0-9*]+", 63)]
ObjectName = Annotated[str, OBJECT]
PluginVersion = Annotated[
    str,
    Text("a version of the device plugin such as v0.20.0", r"v?[0-9]{1,9}\.[0-9]{1,9}(?:[.+-][-0-9A-Za-z.+]*)?", 63),
]
NamespacedName = Annotated[str, NAMESPACED_NAME]
ClassPattern = Annotated[
    str, Text("a RuntimeClass's or handler's name, in which * stands for any text", "[-a-z0-9.*]+", 253)
]
KindName = Annotated[str, KIND]
ApiGroup = Annotated[str, Text("an API group such as jobset.x-k8s.io, or empty", f"(?:{_SUBDOMAIN})?", 253)]
ApiVersion = Annotated[str, Text("an API version such as v1alpha2", "v[0-9]+(?:(?:alpha|beta)[0-9]+)?", 63)]
ResourcePlural = Annotated[str, Text("a resource such as jobsets", "[a-z](?:[-a-z0-9]*[a-z0-9])?", 63)]
TemplatePath = Annotated[
    str,
    Text(
        "a path such as spec.replicatedJobs[*].template",
        r"[A-Za-z][A-Za-z0-9_-]*(?:\[\*\])?(?:\.(?:\*|[A-Za-z][A-Za-z0-9_-]*(?:\[\*\])?))*",
    ),
]
Folder = Annotated[
    str,
    Text(
        "an absolute path below / without : and without . or .. as a part",
        r"(?:/[^/:\x00-\x1f]+)+/?",
        but_not=r".*/\.{1,2}(?:/.*)?",
    ),
]
Host = Annotated[str, Text("an address or a host name such as 0.0.0.0, :: or localhost", r"[A-Za-z0-9_.:%-]+", 253)]
Code = Annotated[str, CODE]

Count = Annotated[int, Range(1)]
"""A whole number above zero."""

Amount = Annotated[int, Range(0)]
"""A whole number, zero included."""

Units = Annotated[int, Range(0, 2**63 - 1)]
"""An amount of a resource in a cluster, which has validated it."""

TaintEffect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
Mode = Literal["enforce", "warn", "audit"]
Level = Literal["privileged", "baseline", "restricted"]
HostIpc = Annotated[Literal[True, False, "required"], Spellings()]

SeverityName = Literal["deny", "warn", "audit", "off"]
# YAML as kubectl and Helm read it takes a bare `off` for false, and a bare `on` for true.
Severities = Mapping[Code, Annotated[SeverityName, Spellings(((False, "off"),))]]
InjectionMode = Annotated[Literal["on", "report", "off"], Spellings(((True, "on"), (False, "off")))]

Seconds = Annotated[float, Duration()]
"""A duration above zero."""

Delay = Annotated[float, Duration(may_be_zero=True)]
"""A duration that may be zero."""

Bytes = Annotated[int, Size()]
"""A size."""
