"""The machine of a run, without names and paths."""

from __future__ import annotations

import os
import platform
import re
import ssl
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

LIBRARIES = ("aiohttp", "uvloop", "msgspec", "pydantic")


@dataclass(frozen=True, slots=True)
class Machine:
    """Processor, memory in GiB, and versions. `server` and `load` are the cores that a server and its load run on."""

    processor: str
    cores: int
    memory: int
    kernel: str
    python: str
    tls: str
    libraries: dict[str, str]
    server: int = 0
    load: int = 1

    @classmethod
    def here(cls) -> Machine:
        """This machine. With one core, servers and load share it, which its description then says."""
        cores = sorted(os.sched_getaffinity(0))
        pages, page = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
        return cls(
            processor=_processor(),
            cores=len(cores),
            memory=round(pages * page / 2**30),
            kernel=platform.release().partition("-")[0],
            python=platform.python_version(),
            tls=" ".join(ssl.OPENSSL_VERSION.split()[:2]),
            libraries={name: version(name) for name in LIBRARIES},
            server=cores[0],
            load=cores[1 % len(cores)],
        )

    def describe(self) -> str:
        """One sentence for the page."""
        shared = "" if self.server != self.load else " Server and load share one core, so read ratios only."
        return (
            f"{self.processor}, {self.cores} cores, {self.memory} GiB, Linux {self.kernel}, Python {self.python}, "
            f"{self.tls}.{shared}"
        )


def pinned(core: int) -> Callable[[], None]:
    """What a child process runs first (`preexec_fn`) to stay on one core."""
    return partial(os.sched_setaffinity, 0, {core})


def _processor() -> str:
    found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return platform.machine() if found is None else " ".join(found[1].split())
