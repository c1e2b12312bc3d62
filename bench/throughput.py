"""Reviews a second over TLS, the server on one core and the client, wrk, on another.

Run: `.venv/bin/python bench/throughput.py`. An aiohttp server with a constant reply, the floor of what can be had, runs
in turn with the webhook; read the ratio, not the figures. Everything is on loopback and ends after a few seconds.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
CERTS = ROOT / "certs"
REVIEWS = ROOT / "tests" / "reviews"
NAMES = ("create-pod-vectoradd", "create-pod-notebook-22fqv")
SECONDS = 4
ROUNDS = 2
CONNECTIONS = 16

WEBHOOK = "from webhook.cli import main; main()"
FLOOR = """
import asyncio, json, ssl, sys, uvloop
from aiohttp import web
async def answer(request):
    await request.read()
    return web.Response(body=b'{"apiVersion":"admission.k8s.io/v1"}', content_type="application/json")
async def serve():
    secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secure.load_cert_chain(sys.argv[1], sys.argv[2])
    runner = web.ServerRunner(web.Server(answer, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=secure).start()
    print(json.dumps({"event": "ready", "port": runner.addresses[0][1]}), flush=True)
    await asyncio.Event().wait()
uvloop.run(serve())
"""


def main() -> None:
    if shutil.which("wrk") is None:
        sys.exit("bench/throughput.py needs wrk on the PATH (package wrk)")
    subprocess.run([sys.executable, str(CERTS / "generate.py")], check=True)
    certificate, key = str(CERTS / "tls.crt"), str(CERTS / "tls.key")
    options = ["serve", "--host", "127.0.0.1", "--port", "0", "--health-port", "0"]
    webhook = [WEBHOOK, *options, "--tls-cert", certificate, "--tls-key", key]
    floor = [FLOOR, certificate, key]
    print(f"{'review':32} {'bytes':>6} {'webhook/s':>10} {'floor/s':>10} {'ratio':>6}")
    for name in NAMES:
        body = json.dumps(json.loads((REVIEWS / f"{name}.json").read_text()), separators=(",", ":"))
        rates: dict[str, list[float]] = {"webhook": [], "floor": []}
        for _ in range(ROUNDS):
            for title, command in (("webhook", webhook), ("floor", floor)):
                with server(command) as port:
                    rates[title].append(measure(port, body))
        ours, theirs = max(rates["webhook"]), max(rates["floor"])
        print(f"{name:32} {len(body):6} {ours:10.0f} {theirs:10.0f} {ours / theirs:6.2f}")


@contextmanager
def server(command: list[str]) -> Iterator[int]:
    """A server in a process of its own, on the first core; yields its port."""
    with (
        tempfile.TemporaryFile() as journal,
        subprocess.Popen(
            [sys.executable, "-c", *command],
            stdout=subprocess.PIPE,
            stderr=journal,
            preexec_fn=lambda: os.sched_setaffinity(0, {0}),
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            event = json.loads(line)
            if event.get("event") == "ready":
                break
        # The journal goes on: read it away as a log collector would, on the other core.
        drain = subprocess.Popen(["cat"], stdin=process.stdout, stdout=subprocess.DEVNULL)
        try:
            yield int(event["port"])
        finally:
            process.terminate()
            process.wait(timeout=20)
            drain.wait(timeout=20)


def measure(port: int, body: str) -> float:
    """Requests a second, as wrk counts them."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write('wrk.method = "POST"\nwrk.headers["Content-Type"] = "application/json"\n')
        script.write(f"wrk.body = [==[{body}]==]\n")
        script.flush()
        run = subprocess.run(
            ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", "-s", script.name, f"https://127.0.0.1:{port}/mutate"],
            check=True,
            capture_output=True,
            text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {1}),
        )
    if "Non-2xx" in run.stdout:
        sys.exit(run.stdout)
    found = re.search(r"Requests/sec:\s+([0-9.]+)", run.stdout)
    assert found is not None, run.stdout
    return float(found.group(1))


if __name__ == "__main__":
    main()
