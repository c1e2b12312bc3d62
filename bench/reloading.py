"""Latency while facts load: the webhook under an open loop, with a facts file that changes repeatedly."""

from __future__ import annotations

import json
import os
import re
import signal
import urllib.request
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from itertools import cycle
from pathlib import Path

from bench.candidates import WEBHOOK, Candidate, Running, running, serving
from bench.cluster import cluster
from bench.load_generator import Load, LoadError, Report, generate
from bench.machine import Machine
from tests.cluster.harness.interpreters import image

_PAUSE = 0.4
"""Seconds between two changes of the file: about as long as one load of 5,000 nodes takes."""

_TAKEN = re.compile(r'^gpushare_webhook_reloads_total\{(?=.*what="facts")(?=.*result="taken").*\} (\S+)$', re.MULTILINE)


def with_facts(name: str, nodes: int, folder: Path) -> Candidate:
    """The webhook with a facts file of `nodes` nodes."""
    file = folder / f"facts-{nodes}.json"
    file.write_text(json.dumps(cluster(nodes)))
    return serving(name, image(), "--facts", str(file))


def measure(load: Load, nodes: int, folder: Path, machine: Machine) -> Report:
    """Run a load on the webhook while it loads facts of `nodes` nodes. Raises LoadError if it loaded none."""
    file = folder / "changing-facts.json"
    contents = [json.dumps(cluster(count)) for count in (nodes, nodes + 1)]
    file.write_text(contents[1])
    candidate = serving(WEBHOOK, image(), "--facts", str(file))
    with running(candidate, machine) as server, ThreadPoolExecutor(1) as pool:
        loading = pool.submit(generate, replace(load, address=server.address), machine)
        _change(file, contents, server, loading)
        report = loading.result()
        if not _taken(server):
            raise LoadError("no facts were loaded during the load")
        return report


def _change(file: Path, contents: list[str], server: Running, loading: Future[Report]) -> None:
    """Replace the file and have the server read it, until the load has ended."""
    for content in cycle(contents):
        fresh = file.with_suffix(".new")
        fresh.write_text(content)
        fresh.rename(file)
        os.kill(server.pid, signal.SIGHUP)
        if wait([loading], _PAUSE).done:
            return


def _taken(server: Running) -> float:
    """How many facts files the server has loaded since its start."""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.health_port}/metrics", timeout=20) as answer:
        found = _TAKEN.search(answer.read().decode())
    return 0 if found is None else float(found[1])
