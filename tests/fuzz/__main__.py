"""Search for inputs that break a target: `python -m tests.fuzz TARGET SECONDS`.

atheris searches where it is installed: it follows the branches that an input takes. Elsewhere hypothesis searches.
An input that breaks the target is written below build/fuzz/. Once fixed, it belongs into tests/fuzz/corpus/.
"""

from __future__ import annotations

import sys
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

FOUND = Path("build/fuzz")
_LONGEST = 8192
_LARGEST_MIB = 2048


def main(name: str, seconds: int) -> None:
    """Search for the given time; exit with another code than 0 as soon as something is found."""
    FOUND.mkdir(parents=True, exist_ok=True)
    search = _with_atheris if find_spec("atheris") else _with_hypothesis
    search(name, seconds)


def _with_atheris(name: str, seconds: int) -> None:
    atheris: Any = import_module("atheris")
    with atheris.instrument_imports(include=["webhook"]):
        target = import_module("tests.fuzz.targets").TARGETS[name]
    words = FOUND / f"{name}.dict"
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in target.words), encoding="ascii")
    corpus = FOUND / name
    corpus.mkdir(exist_ok=True)
    options = [
        f"-max_total_time={seconds}",
        f"-max_len={_LONGEST}",
        f"-rss_limit_mb={_LARGEST_MIB}",
        f"-artifact_prefix={FOUND}/{name}-",
        f"-dict={words}",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus), *map(str, target.seeds)], target)
    atheris.Fuzz()


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


def _with_hypothesis(name: str, seconds: int) -> None:
    from hypothesis import given, settings

    from tests.fuzz.mutations import mutated
    from tests.fuzz.targets import TARGETS

    target = TARGETS[name]
    run = 0

    @settings(settings.get_profile("default"), max_examples=500, deadline=None)  # each target has a time limit
    @given(mutated(target))
    def search(data: bytes) -> None:
        nonlocal run
        run += 1
        try:
            target(data)
        except BaseException:
            (FOUND / f"{name}-broken").write_bytes(data)
            raise

    end = time.monotonic() + seconds
    while time.monotonic() < end:
        search()
    print(f"{name}: {run} inputs by hypothesis, none broke it")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python -m tests.fuzz TARGET SECONDS")
    main(sys.argv[1], int(sys.argv[2]))
