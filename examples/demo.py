"""The demo: a real server on loopback, real reviews over TLS, and the answer to each.

It sends the manifests in this folder and reviews recorded from a real API server (tests/reviews).
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import ssl
import sys
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import aiohttp
import click
import jsonpatch

from webhook.manifests import Manifest, Source, objects
from webhook.report.data import yaml_text
from webhook.report.model import Subject
from webhook.report.mutate import MutateFormat
from webhook.report.mutation import Destination
from webhook.report.rewrite import EditedFile, Mutation

ROOT = Path(__file__).parent.parent
CERTS = ROOT / "certs"
START_WITHIN = 30
PATIENCE = aiohttp.ClientTimeout(total=10)


@dataclass(frozen=True)
class Example:
    """A review to send, with a line that describes it."""

    title: str
    about: str
    review: dict[str, Any]

    @property
    def path(self) -> str:
        """Pods go to the mutating hook, workloads to the validating one, as in a cluster."""
        return "/mutate" if self.review["request"]["kind"]["kind"] == "Pod" else "/validate"


def recorded() -> Iterator[Example]:
    """Yield reviews as a real API server sent them."""
    for file in sorted((ROOT / "tests" / "reviews").glob("*.json")):
        review = json.loads(file.read_text())
        request = review["request"]
        about = (
            f"kube-apiserver: {request['operation']} {request['kind']['kind']} {request['namespace']}/{request['name']}"
        )
        yield Example(file.name, about, review)


def written() -> Iterator[Example]:
    """Yield reviews of the manifests in this folder."""
    for file in sorted(Path(__file__).parent.glob("*.yaml")):
        about = file.read_text().partition("\n")[0].removeprefix("# ")
        for manifest in objects(Source(file.name, file.read_bytes())):
            if not isinstance(manifest, Manifest):
                raise click.ClickException(str(manifest))
            yield Example(f"examples/{file.name}", about, _review(manifest.value))


def _review(manifest: Any) -> dict[str, Any]:
    group, _, version = manifest["apiVersion"].rpartition("/")
    request = {
        "uid": str(uuid.uuid4()),
        "kind": {"group": group, "version": version, "kind": manifest["kind"]},
        "namespace": manifest["metadata"].setdefault("namespace", "default"),
        "operation": "CREATE",
        "userInfo": {"username": "demo"},
        "object": manifest,
        "oldObject": None,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


@asynccontextmanager
async def server() -> AsyncIterator[str]:
    """Run the real server in a separate process, yield its address, and stop it as Kubernetes would."""
    with NamedTemporaryFile("w", suffix=".yaml") as settings:
        settings.write("server: {shutdownDelay: 0s}\n")  # no endpoints have to go first
        settings.flush()
        # fmt: off
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "webhook", "serve", "--config", settings.name,
            "--host", "127.0.0.1", "--port", "0", "--health-port", "0",
            "--tls-cert", str(CERTS / "tls.crt"), "--tls-key", str(CERTS / "tls.key"),
            stdout=asyncio.subprocess.PIPE,
        )
        # fmt: on
        try:
            async with asyncio.timeout(START_WITHIN):
                port = await _port(process)
            yield f"https://localhost:{port}"
        finally:
            if process.returncode is None:
                process.terminate()
            await process.communicate()
    if process.returncode != 0:
        raise click.ClickException(f"the server exited with code {process.returncode}")


async def _port(process: asyncio.subprocess.Process) -> int:
    """Return the port from the log line of the ready server."""
    if process.stdout is None:
        raise AssertionError("the log is a pipe")
    async for line in process.stdout:
        event = json.loads(line)
        if event["event"] == "ready":
            return int(event["port"])
    raise click.ClickException("the server exited before it was ready")


def show(example: Example, answer: dict[str, Any]) -> None:
    """Print the answer to a review."""
    say(f"\n{click.style(example.title, bold=True)}  {click.style(example.about, dim=True)}")
    response = answer["response"]
    for warning in response.get("warnings", []):
        say(f"  {click.style('warning', fg='yellow')}  {warning}")
    if not response["allowed"]:
        *findings, more = response["status"]["message"].splitlines()
        for line in findings:
            message, _, remedy = line.rpartition("; ")
            say(f"  {click.style('denied ', fg='red')}  {message}")
            say(f"  {click.style('remedy ', fg='cyan')}  {remedy}")
        say(f"  {click.style('more   ', fg='cyan')}  {more}")
        return
    if "patch" not in response:
        say(f"  {click.style('allowed', fg='green')}  without edits")
        return
    operations = json.loads(base64.b64decode(response["patch"]))
    say(f"  {click.style('allowed', fg='green')}  with {len(operations)} additions")
    before = example.review["request"]["object"]
    before["metadata"].pop("managedFields", None)
    for line in _difference(before, operations).splitlines()[2:]:
        say(f"    {line}")


def _difference(before: Any, operations: list[dict[str, Any]]) -> str:
    """Return the diff of an object's YAML."""
    (manifest,) = objects(Source("sent", yaml_text(before).encode()))
    if not isinstance(manifest, Manifest):
        raise click.ClickException(str(manifest))
    subject = Subject(before["apiVersion"], before["kind"], "", "")
    writer = MutateFormat.DIFF.writer(Destination(paint=_paint))
    edited = Mutation(manifest, subject, operations, lambda value, _above: jsonpatch.apply_patch(value, operations))
    return "".join(map(str, writer.file(EditedFile([edited]))))


def _paint(text: str, colour: str) -> str:
    return click.style(text, fg=colour)


def say(text: str) -> None:
    """Print text, in colour if the environment asks for it."""
    click.echo(text, color=None if "FORCE_COLOR" not in os.environ else True)


async def main() -> None:
    """Start the server, send every example, stop the server."""
    missing = [name for name in ("ca.crt", "tls.crt", "tls.key") if not (CERTS / name).exists()]
    if missing:
        raise click.ClickException(f"certs/{missing[0]} is missing; create it with `make certs`")
    trust = ssl.create_default_context(cafile=str(CERTS / "ca.crt"))
    async with server() as address, aiohttp.ClientSession(timeout=PATIENCE) as session:
        say(f"gpushare-webhook serves reviews over TLS at {address}, as it does for the API server")
        denied = patched = total = 0
        for example in (*written(), *recorded()):
            async with session.post(address + example.path, json=example.review, ssl=trust) as response:
                if response.status != 200:
                    raise click.ClickException(f"{example.title}: HTTP {response.status} {await response.text()}")
                answer = await response.json()
            show(example, answer)
            total += 1
            denied += not answer["response"]["allowed"]
            patched += "patch" in answer["response"]
    say(f"\n{total} reviews: {denied} denied, {patched} patched, {total - denied - patched} unchanged.")
    say("Next: `make serve` leaves the server running; `.venv/bin/gpushare-webhook check -f FILE` checks manifests.")


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
