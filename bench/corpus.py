"""Reviews for measurements: recorded ones, grown to a size, each with its own names, uids and values.

The same seed gives the same reviews. A pod grows as real ones do: variables first, then containers with variables, and
each of them in `managedFields` too, which make about half of what the API server sends.
"""

from __future__ import annotations

import copy
import json
import random
import uuid
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REVIEWS = Path(__file__).parents[1] / "tests" / "reviews"
GPU = "nvidia.com/gpu"

KINDS = {"mutated": "1", "denied": "2", "untouched": None}
"""What becomes of a pod, and for how many replicas it asks then."""

_SMALL = ("create-pod-vectoradd", "vectoradd")
_COMMON = ("create-pod-notebook-22fqv", "jupyter")
_VARIABLES = 10
"""Variables of a container; the next one gets a container more."""

_MOST = 4_096


@dataclass(frozen=True, slots=True)
class Size:
    """A size: the approximate bytes, the recorded review to grow, and the number of different reviews."""

    title: str
    bytes: int
    recorded: tuple[str, str]
    different: int


SIZES = (
    Size("2 kB", 2_000, _SMALL, 512),
    Size("6 kB", 6_000, _COMMON, 512),
    Size("30 kB", 30_000, _COMMON, 128),
    Size("200 kB", 200_000, _COMMON, 32),
)
TWO, SIX = SIZES[:2]


def reviews(kind: str, size: Size) -> list[bytes]:
    """Different reviews of one kind and size, as the API server encodes them."""
    file, main = size.recorded
    recorded = json.loads((REVIEWS / f"{file}.json").read_text())
    _ask(recorded["request"]["object"], main, KINDS[kind])
    grown = _grown(recorded, main, size.bytes)
    chance = random.Random(f"{kind} {size.title}")  # noqa: S311 - variety is wanted, not secrecy
    return [encoded(_varied(grown, number, chance)) for number in range(size.different)]


def encoded(review: Any) -> bytes:
    """A review as it is sent: compact."""
    return json.dumps(review, separators=(",", ":"), ensure_ascii=False).encode()


def write(kind: str, size: Size, folder: Path) -> Path:
    """A file with one review per line, for the load generator."""
    file = folder / f"{kind}-{size.bytes}.jsonl"
    if not file.exists():
        file.write_bytes(b"\n".join(reviews(kind, size)) + b"\n")
    return file


def _ask(pod: Any, main: str, replicas: str | None) -> None:
    (container,) = (one for one in pod["spec"]["containers"] if one["name"] == main)
    for amounts in container["resources"].values():
        if replicas is None:
            del amounts[GPU]
        else:
            amounts[GPU] = replicas
    if replicas is None:
        for owned in _owned(pod)[_key(main)]["f:resources"].values():
            owned.pop(f"f:{GPU}", None)


def _grown(recorded: Any, main: str, size: int) -> Any:
    """A copy with at least one more variable, up to about `size` bytes."""

    def length(variables: int) -> int:
        return len(encoded(_with_variables(recorded, main, variables)))

    return _with_variables(recorded, main, max(1, bisect_right(range(_MOST), size, key=length) - 1))


def _with_variables(recorded: Any, main: str, variables: int) -> Any:
    """A copy with `count` more variables: some in the GPU container, the others in sidecars."""
    review = copy.deepcopy(recorded)
    pod = review["request"]["object"]
    owned = _owned(pod)
    (container,) = (one for one in pod["spec"]["containers"] if one["name"] == main)
    like = {key: container[key] for key in ("image", "imagePullPolicy", "terminationMessagePath")}
    for number in range(variables):
        if number and number % _VARIABLES == 0:
            container = {"name": f"sidecar-{number // _VARIABLES}", **like, "resources": {}}
            pod["spec"]["containers"].append(container)
            owned[_key(container["name"])] = {".": {}, "f:name": {}, **{f"f:{key}": {} for key in like}}
        name = f"SETTING_{number:04}"
        container.setdefault("env", []).append({"name": name, "value": "0" * 24})
        fields = owned[_key(container["name"])].setdefault("f:env", {".": {}})
        fields[_key(name)] = {".": {}, "f:name": {}, "f:value": {}}
    return review


def _owned(pod: Any) -> Any:
    return pod["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:containers"]


def _key(name: str) -> str:
    return f'k:{{"name":"{name}"}}'


def _varied(grown: Any, number: int, chance: random.Random) -> Any:
    """A copy with another name, other uids and other values of its variables."""
    review = copy.deepcopy(grown)
    request = review["request"]
    pod = request["object"]
    request["uid"] = _uid(chance)
    pod["metadata"]["uid"] = _uid(chance)
    suffix = f"{number:03}-{chance.getrandbits(32):08x}"
    pod["metadata"]["name"] = request["name"] = f"{request['name']}-{suffix}"
    for container in pod["spec"]["containers"]:
        for variable in container.get("env", ()):
            if "value" in variable:
                variable["value"] = f"{chance.getrandbits(96):024x}"
    return review


def _uid(chance: random.Random) -> str:
    return str(uuid.UUID(int=chance.getrandbits(128), version=4))
