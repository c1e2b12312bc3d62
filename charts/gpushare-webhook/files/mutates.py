"""The program of `helm test`: a GPU pod, created as a dry run, must come back with an injection or a finding."""

from __future__ import annotations

import json
import os
import ssl
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

Object = dict[str, Any]

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
ANNOTATION = "gpushare-webhook/active-thread-percentage"
INJECTED = {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "CUDA_MPS_PIPE_DIRECTORY"}


def pod(amount: int, percentage: str) -> Object:
    """A pod that asks for replicas of that size, and passes the restricted level of Pod Security."""
    limits = {os.environ["TEST_RESOURCE"]: amount}
    closed = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    container = {"name": "main", "image": "none", "resources": {"limits": limits}, "securityContext": closed}
    outer = {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}}
    metadata = {"generateName": "gpushare-webhook-test-", "annotations": {ANNOTATION: percentage}}
    spec = {"containers": [container], "securityContext": outer}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def create(manifest: Object) -> tuple[Object, str]:
    """The object or the error that the API server responds with, and its warnings."""
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    host = f"[{host}]" if ":" in host else host
    url = f"https://{host}:{port}/api/v1/namespaces/{os.environ['TEST_NAMESPACE']}/pods?dryRun=All"
    headers = {"Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(manifest).encode(), headers)
    trusted = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    try:
        with urllib.request.urlopen(request, timeout=30, context=trusted) as answer:  # noqa: S310
            return json.load(answer), " ".join(answer.headers.get_all("Warning", []))
    except urllib.error.HTTPError as error:
        return json.load(error), " ".join(error.headers.get_all("Warning", []))


def main() -> str:
    """Empty when there is a trace of the webhook, else what came back instead."""
    answer, warnings = create(pod(1, "50"))
    if "gpushare-webhook would inject" in warnings:
        return ""
    spec = answer.get("spec", {})
    added = {entry["name"] for container in spec.get("containers", []) for entry in container.get("env", [])}
    if "runtimeClassName" in spec or INJECTED & added:
        return ""
    # Settings that inject nothing still deny or warn: about the amount, or where it has no limit, about the annotation.
    refusal, more = create(pod(1_000_000, "all"))
    said = f"{refusal.get('message', '')} {more}"
    if "GPS0" in said:
        return ""
    first = answer.get("message") or f"it came back unchanged {warnings}"
    second = said.strip() or "accepted"
    return f"no trace of the webhook. A valid pod that asks for one: {first}. A wrong one that asks for more: {second}."


if __name__ == "__main__":
    problem = main()
    sys.stdout.write(f"{problem or 'the webhook answers'}\n")
    sys.exit(bool(problem))
