"""A process that misuses connections of a server on loopback: one attack, again and again, bounded in time and count.

    python -m bench.attackers PORT AUTHORITY ATTACK SECONDS COUNT

It ends after this many seconds or attacks, and writes how many there were.
"""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
import threading
import time
from itertools import count
from pathlib import Path

from bench.machine import Machine, pinned
from tests.server.attacks import ATTACKS, Attack

_THREADS = 8
_NICE = 5
_MARGIN = 60.0
_SECONDS = 120.0
_COUNT = 100_000
"""The most of one run."""

BY_NAME = {attack.name: attack for attack in ATTACKS}


def started(machine: Machine, port: int, authority: Path, attack: Attack, seconds: float, most: int) -> Attackers:
    """Start attacking from the load's core, behind what measures there."""

    def stand_back() -> None:
        pinned(machine.load)()
        os.nice(_NICE)

    command = [sys.executable, "-m", "bench.attackers", str(port), str(authority), attack.name, str(seconds), str(most)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=stand_back)
    return Attackers(process, seconds)


class Attackers:
    """The process, which runs."""

    def __init__(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        self._process = process
        self._seconds = seconds

    def ended(self) -> int:
        """How many attacks there were, when it has ended."""
        try:
            said, _ = self._process.communicate(timeout=self._seconds + _MARGIN)
        finally:
            self._process.kill()
        return int(said)


def _attack(port: int, trust: ssl.SSLContext, attack: Attack, seconds: float, most: int) -> int:
    """Attack in some threads; how many times."""
    end, numbers = time.monotonic() + seconds, count(1)
    done = [0] * _THREADS

    def work(place: int) -> None:
        while time.monotonic() < end and next(numbers) <= most:
            attack.attempt(port, trust)
            done[place] += 1

    threads = [threading.Thread(target=work, args=(place,)) for place in range(_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done)


def main() -> None:
    """Attack as the command line says."""
    port, authority, name, seconds, most = sys.argv[1:]
    trust = ssl.create_default_context(cafile=authority)
    print(_attack(int(port), trust, BY_NAME[name], min(float(seconds), _SECONDS), min(int(most), _COUNT)))


if __name__ == "__main__":
    main()
