"""Worst time and memory of one request of a tenant, for each shape of review.

    .venv/bin/python bench/shapes.py [--size BYTES] [SHAPE ...]

Each shape is a review that consists of one kind of element, grown to a size, and is answered in a process of its own.
Printed are the CPU seconds per MiB and the peak of memory beside the process at rest, per byte of the review.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.hostile import SHAPES

MIB = 2**20
TIMEOUT = 120


def measure(name: str, size: int) -> None:
    """Answer one review, and print its size, its CPU time and its memory."""
    from webhook.admission import Hook, respond
    from webhook.policy.evaluate import Evaluator
    from webhook.policy.settings.settings import Settings

    shape = SHAPES[name]
    body = shape.review(shape.count_for(size))
    evaluator = Evaluator.of(Settings())
    respond(shape.review(2), Hook.MUTATE, evaluator).body()
    Path("/proc/self/clear_refs").write_text("5")
    rest = high_water()
    times = []
    length = 0
    for hook in (Hook.MUTATE, Hook.VALIDATE):
        start = time.process_time()
        length = max(length, len(respond(body, hook, evaluator).body()))
        times.append(time.process_time() - start)
    print(json.dumps([len(body), *times, high_water() - rest, length]))


def high_water() -> int:
    """The peak of resident memory, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Measure the shapes, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=MIB, help="the approximate size of each review, in bytes")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("shapes", nargs="*", help="the shapes to measure; without any, all")
    options = parser.parse_args()
    if options.one:
        measure(options.shapes[0], options.size)
        return
    print(
        f"{'shape':44} {'MiB':>6} {'mutate s/MiB':>13} {'validate':>9} "
        f"{'memory /B':>10} {'peak MiB':>9} {'answer kB':>9}"
    )
    for name in options.shapes or SHAPES:
        command = [sys.executable, __file__, "--one", "--size", str(options.size), name]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        except subprocess.TimeoutExpired:
            print(f"{name:44} more than {TIMEOUT} s", flush=True)
            continue
        if done.returncode:
            print(f"{name:44} {done.stderr.strip().splitlines()[-1][:80]}", flush=True)
            continue
        size, mutate, validate, memory, answer = json.loads(done.stdout)
        mib = size / MIB
        print(
            f"{name:44} {mib:6.2f} {mutate / mib:13.3f} {validate / mib:9.3f} {memory / size:10.1f} "
            f"{memory / MIB:9.1f} {answer / 1000:9.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
