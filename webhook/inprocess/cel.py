"""How expressions in CEL are put together: literals, named values, records, and readings of parts that may be absent.

Names of CEL's variables are the arguments of these functions, so that an expression reads like the Python beside it.
The API server evaluates with its own libraries (kubernetes/kubernetes, staging/src/k8s.io/apiserver,
pkg/cel/environment/base.go): optional values, two-variable comprehensions, lists and strings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from webhook.policy.messages import MESSAGE_LIMIT

_ESCAPED: Final = {char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


def literal(value: object) -> str:
    """A value of JSON as a literal: keys sorted, escaped as Go's encoder does, which Helm uses."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    for char, escape in _ESCAPED.items():
        text = text.replace(char, escape)
    return text


def text(value: str) -> str:
    """A text of the source code as a literal in single quotes."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def texts(values: list[str] | tuple[str, ...]) -> str:
    """Texts of the source code as the literal of a list."""
    return f"[{', '.join(map(text, values))}]"


def let(name: str, value: str, body: str) -> str:
    """The body, in which a name stands for a value that is evaluated once. CEL has no `let` in the API server."""
    return f"[{value}].map({name}, {body})[0]"


def record(**members: str) -> str:
    """A mapping of members of any types, which the API server accepts only as `dyn`."""
    return "{" + ", ".join(f"{text(name)}: dyn({value})" for name, value in members.items()) + "}"


def mapping(holder: str, *fields: str) -> str:
    """The mapping at fields below a mapping; empty where it is absent or has another type."""
    for field in fields:
        found = f"{holder}[?{text(field)}].orValue(dyn(null))"
        holder = let("held", found, "type(held) == map ? held : dyn({})")
    return holder


def elements(holder: str, field: str) -> str:
    """The list in a field of a mapping; empty where it is absent or has another type."""
    return let("held", f"{holder}[?{text(field)}].orValue(dyn(null))", "type(held) == list ? held : dyn([])")


_CHUNK = 100


def in_chunks(values: str, body: str) -> str:
    """The lists that the body makes of each `chunk` of a list, as one list. `start` is the place of its first value.

    The tracker of costs searches all values that a loop has left behind, at each step, so that the time grows with the
    square of a loop's steps (google/cel-go interpreter/runtimecost.go, `refValStack.drop`). The end of an inner loop
    removes them.
    """
    chunk = f"values.slice(start, start + {_CHUNK} < values.size() ? start + {_CHUNK} : values.size())"
    starts = f"lists.range((values.size() + {_CHUNK - 1}) / {_CHUNK}).map(number, number * {_CHUNK})"
    return let("values", values, f"{starts}.map(start, {let('chunk', chunk, body)}).flatten()")


def message(template: str, names: Sequence[str] = (), **texts: str) -> str:
    """A message as `webhook.policy.messages.Message`, before it is fitted: its `names`, and the `parts` around them.

    `{}` stands for a quoted name, `{word}` for the text of a word.
    """
    parts = [_joined(part, texts) for part in template.split("{}")]
    return record(parts=f"[{', '.join(parts)}]", names=f"[{', '.join(names)}]")


_PRINTABLE = (
    "name.matches('^[ -~]*$') ? name : "
    "name.split('').map(char, char.matches('^[\\\\pL\\\\pM\\\\pN\\\\pP\\\\pS ]$') ? char : '?').join('')"
)


def _joined(part: str, texts: Mapping[str, str]) -> str:
    """A part of a template between names, with the texts of its words."""
    pieces = re.split(r"\{(\w+)\}", part)
    shown = [text(piece) if place % 2 == 0 else texts[piece] for place, piece in enumerate(pieces)]
    return " + ".join(one for one in shown if one != "''") or "''"


def _shorten(name: str, limit: str) -> str:
    """As `webhook.policy.messages.shorten`."""
    cut = (
        f"{name}.substring(0, {limit} - 1 - ({limit} - 1) / 2) + '…' + "
        f"{name}.substring({name}.size() - ({limit} - 1) / 2)"
    )
    return f"({name}.size() <= {limit} ? {name} : {cut})"


_SHORTEST = 9
_LEVEL = (
    "lists.range(variables.sizes.size()).map(kept, (variables.room - variables.sizes.sort().slice(0, kept).sum()) / "
    "(variables.sizes.size() - kept)).max()"
)
_LATER = "variables.sizes.slice(place + 1, variables.sizes.size()).filter(size, size > variables.level).size()"
_SHARE = (
    "(variables.sizes[place] <= variables.level ? variables.sizes[place] : "
    f"variables.level + ({_LATER} < variables.spare ? 1 : 0))"
)

FITTING: Final[Mapping[str, str]] = {
    "names": f"variables.message.names.map(name, {_shorten('name', str(MESSAGE_LIMIT))}).map(name, {_PRINTABLE})",
    "room": f"{MESSAGE_LIMIT} - 2 * variables.names.size() - variables.message.parts.map(part, part.size()).sum()",
    "sizes": "variables.names.map(name, name.size())",
    "level": f"[{_LEVEL}].map(level, level < {_SHORTEST} ? {_SHORTEST} : level)[0]",
    "spare": "variables.room - variables.sizes.map(size, size < variables.level ? size : variables.level).sum()",
    "fitted": "variables.names.size() == 0 || variables.sizes.sum() <= variables.room ? variables.names : "
    f"variables.names.transformList(place, name, {_shorten('name', _SHARE)})",
}
"""The variables that fit the variable `message`: as `_shares` and `_level` of `webhook.policy.messages`.

`names`: without characters that cannot be printed, each short enough alone. `fitted`: short enough together.
"""

FITTED: Final = (
    "variables.message.parts[0] + variables.fitted.transformList(place, name, "
    "'\"' + name + '\"' + variables.message.parts[place + 1]).join('')"
)
"""The text of the message."""


VARIABLE: Final = re.compile(r"\bvariables\.(\w+)")
"""A variable of a policy in an expression."""


def used(expressions: list[str], known: Mapping[str, str]) -> list[str]:
    """The variables that expressions use, directly or through others, in the order in which they are known."""
    found: set[str] = set()
    open_expressions = list(expressions)
    while open_expressions:
        for name in VARIABLE.findall(open_expressions.pop()):
            if name not in found:
                found.add(name)
                open_expressions.append(known[name])
    return [name for name in known if name in found]
