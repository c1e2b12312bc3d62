"""The program of `helm test`: a GPU pod, created as a dry run, must come back with an injection or a finding.

A second pod, with a hostPath volume of its own, shows whether the API server enforces a level of Pod Security.
"""

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
LEVEL = "pod-security.kubernetes.io/enforce"
VIOLATION = "violates PodSecurity"
REMEDY = "Set config.podSecurity.unlabelled to the level that the API server enforces where a namespace has no label."
INJECTED = {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "CUDA_MPS_PIPE_DIRECTORY"}


def pod(amount: int, percentage: str, host_path: str = "") -> Object:
    """A pod that asks for replicas of that size. Without a hostPath it passes the restricted level of Pod Security."""
    limits = {os.environ["TEST_RESOURCE"]: amount}
    closed = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    container = {"name": "main", "image": "none", "resources": {"limits": limits}, "securityContext": closed}
    outer = {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}}
    metadata = {"generateName": "gpushare-webhook-test-", "annotations": {ANNOTATION: percentage}}
    spec: Object = {"containers": [container], "securityContext": outer}
    if host_path:
        spec["volumes"] = [{"name": "mounted", "hostPath": {"path": host_path}}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def ask(path: str, manifest: Object | None = None) -> tuple[Object, str]:
    """The object or the error that the API server responds with, and its warnings. With a manifest, it creates that."""
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    host = f"[{host}]" if ":" in host else host
    url = f"https://{host}:{port}/api/v1/namespaces/{os.environ['TEST_NAMESPACE']}{path}"
    headers = {"Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}", "Content-Type": "application/json"}
    body = None if manifest is None else json.dumps(manifest).encode()
    request = urllib.request.Request(url, body, headers)
    trusted = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    try:
        with urllib.request.urlopen(request, timeout=30, context=trusted) as answer:  # noqa: S310
            return json.load(answer), " ".join(answer.headers.get_all("Warning", []))
    except urllib.error.HTTPError as error:
        return json.load(error), " ".join(error.headers.get_all("Warning", []))


def create(manifest: Object) -> tuple[Object, str]:
    """The same for a dry run of a pod."""
    return ask("/pods?dryRun=All", manifest)


def trace() -> str:
    """Empty when there is a trace of the webhook, else the responses instead."""
    answer, warnings = create(pod(1, "50"))
    if VIOLATION in answer.get("message", ""):
        return f"Pod Security refuses a GPU pod with the injected volume: {answer['message']}. {REMEDY}"
    if "gpushare-webhook would inject" in warnings:
        return ""
    spec = answer.get("spec", {})
    added = {entry["name"] for container in spec.get("containers", []) for entry in container.get("env", [])}
    if "runtimeClassName" in spec or INJECTED & added:
        return ""
    # Settings that inject nothing still deny or warn: about the amount, or where it has no limit, about the annotation.
    refusal, more = create(pod(1_000_000, "all"))
    said = f"{refusal.get('message', '')} {more}"
    # While no replica answers, the guard denies in its place.
    if "GPS0" in said and (os.environ["TEST_GUARD_ONLY"] or "ValidatingAdmissionPolicy" not in said):
        return ""
    first = answer.get("message") or f"it came back unchanged {warnings}"
    second = said.strip() or "accepted"
    return f"no trace of the webhook. A valid pod that asks for one: {first}. A wrong one that asks for more: {second}."


def default_level() -> tuple[str, str]:
    """A problem with the API server's own level of Pod Security, and a remark; empty where there is none.

    Some clusters enforce a level in namespaces without a label, and the webhook mounts a hostPath volume there.
    """
    host_path = os.environ["TEST_HOSTPATH"]
    if not host_path:
        return "", ""
    space, _ = ask("")
    if "metadata" not in space:
        return "", f"The level of Pod Security was not tested: {space.get('message', 'the namespace cannot be read')}."
    if LEVEL in space["metadata"].get("labels", {}):
        return "", f"The default of Pod Security was not tested: namespace {space['metadata']['name']} has {LEVEL}."
    message = create(pod(1, "50", host_path))[0].get("message", "")
    if VIOLATION in message:
        return f"the API server enforces Pod Security in a namespace without a label: {message}. {REMEDY}", ""
    return "", ""


def main() -> int:
    """Print the result, and return the exit code."""
    problem = trace()
    level, remark = ("", "") if problem else default_level()
    problem = problem or level
    sys.stdout.write(f"{problem or 'the webhook answers'}\n" + (f"{remark}\n" if remark else ""))
    return int(bool(problem))


if __name__ == "__main__":
    sys.exit(main())
