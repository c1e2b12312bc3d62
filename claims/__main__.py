"""`make claims`: hold each claim against its release, or with NEWEST=1 against the newest one of its registry.

    python -m claims [--newest] [--clones FOLDER]

Claims of releases that no registry serves are listed with commit and date. With a folder of clones, such as
FOLDER/NVIDIA/gpu-operator, they are checked as well. Ends with 1 if a claim does not hold, with 2 if a release that a
registry should serve cannot be had.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

from claims.data import Claim, Source, load, numbers
from claims.registries import NotServedError, folder, newest, of_clone, text


def main() -> int:
    """Print what holds and what does not."""
    parser = argparse.ArgumentParser(prog="claims")
    parser.add_argument("--newest", action="store_true", help="look for newer releases, and list what changed")
    parser.add_argument("--clones", type=Path, metavar="FOLDER", help="check what no registry serves in clones")
    options = parser.parse_args()
    sources, claims = load()
    claims = sorted(claims, key=lambda one: (one.source.name, numbers(one.release)))
    served = [one for one in claims if not one.is_recorded]
    read = _newer(sources.values(), claims) if options.newest else _groups(served)
    codes = [_report(*one) for one in read]
    for source, release, own in _groups(claims) if not options.newest else ():
        if release in source.recorded:
            print(f"{source.name} {release}: {_counted(own)} not served by a registry, at {source.recorded[release]}")
            if options.clones:
                codes.append(_report(source, release, own, partial(of_clone, options.clones, source, release)))
    return max(codes, default=0)


Group = tuple[Source, str, Sequence[Claim]]


def _groups(claims: Iterable[Claim]) -> Iterator[Group]:
    """The claims by source and release."""
    for (_, release), found in groupby(claims, key=lambda one: (one.source.name, one.release)):
        own = list(found)
        yield own[0].source, release, own


def _newer(sources: Iterable[Source], claims: Sequence[Claim]) -> Iterator[Group]:
    """The claims of the newest known release of a source, by its newer release."""
    for source in sources:
        try:
            found = newest(source) if source.registry else ""
        except NotServedError as problem:
            print(f"{source.name}: no newer release is known, {problem}")
            continue
        if not found:
            print(f"{source.name}: no registry serves it; {source.last} is the last that was read")
        elif numbers(found) <= numbers(source.last):
            print(f"{source.name}: {source.last} is the newest release")
        else:
            print(f"{source.name}: {found} is newer than {source.last}")
            yield source, found, [one for one in claims if one.source == source and not one.is_of_an_old_release]


def _report(source: Source, release: str, claims: Sequence[Claim], read: Callable[[str], str] | None = None) -> int:
    """Print which claims of a release do not hold, and return the exit code for them."""
    try:
        files = None if read is not None else folder(source, release)
    except NotServedError as problem:
        print(f"{source.name} {release}: {_counted(claims)} not checked: {problem}")
        return 2
    wrong = 0
    for claim in claims:
        try:
            said = claim.problem(read(claim.path) if read is not None else text(files or Path(), claim.path))
        except NotServedError as problem:
            said = str(problem)
        if said:
            wrong += 1
            print(f"  {claim.says}\n    {claim.path}: {said}")
            print("".join(f"    used in {file}: {word}\n" for file, word in claim.used), end="")
    print(f"{source.name} {release}: {_counted(claims)} checked, {wrong} wrong")
    return int(wrong > 0)


def _counted(claims: Sequence[Claim]) -> str:
    return "1 claim" if len(claims) == 1 else f"{len(claims)} claims"


if __name__ == "__main__":
    raise SystemExit(main())
