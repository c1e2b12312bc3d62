"""Pods that have a node and do not start: mounts, sandboxes, images, configuration, and programs that fail to start."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from webhook.live.why.case import Case
from webhook.live.why.cause import Cause
from webhook.live.why.event import Event, first
from webhook.live.why.pod_state import ContainerState, containers, has_started, is_finished, node_name
from webhook.live.why.reading import Object, word

_IMAGE: Final = frozenset(
    "ErrImagePull ImagePullBackOff InvalidImageName ErrImageNeverPull RegistryUnavailable ImageInspectError "
    "SignatureValidationFailed".split()
)
_CONFIG: Final = frozenset({"CreateContainerConfigError", "CreateContainerConfigurationError"})
_START: Final = frozenset({"CreateContainerError", "RunContainerError", "StartError", "ContainerCannotRun"})
_DRIVER: Final = re.compile(
    r"nvidia-smi|libcuda|libnvidia|nvidia-container|nvidia-cdi|unresolvable CDI devices|nvidia\.com/gpu=", re.ASCII
)
_HANDLER: Final = re.compile(
    r'no runtime for "([^"]{1,253})" is configured|runtime handler "?(\S{1,253})"? not', re.ASCII
)
_TYPE: Final = re.compile(r"hostPath type check failed: (\S{1,1024}) is not", re.ASCII)
_OBJECT: Final = re.compile(r'(configmap|secret) "([^"]{1,253})" not found', re.ASCII)


def causes(case: Case) -> Iterator[Cause]:
    """The causes for which containers of a pod with a node do not start."""
    pod = case.pod
    if pod is None or not node_name(pod):
        return
    of_containers = [cause for one in containers(pod) if (cause := _of_container(case, one)) is not None]
    yield from of_containers
    if of_containers or is_finished(pod) or has_started(pod):
        return
    cause = _before_containers(case, pod)
    if cause is not None:
        yield cause


def _of_container(case: Case, one: ContainerState) -> Cause | None:
    reason, said = word(one.waiting, "reason"), word(one.waiting, "message")
    if reason in _IMAGE:
        event = first(case.events, ("Failed",), "image")
        evidence = [str(event)] if event is not None else []
        summary = f"the image of container {one.name} cannot be pulled: {reason}"
        remedy = f"correct the image, or its pull secret: {case.edit}"
        return Cause("image", summary, [*([said] if said else []), *evidence], remedy)
    if reason in _CONFIG:
        summary = f"container {one.name} cannot be configured: {said or reason}"
        return Cause("container-config", summary, [], _to_correct(case, said))
    last = one.ended or one.ended_before
    if reason in _START or (word(last, "reason") in _START and not one.running):
        event = first(case.events, ("Failed",))
        message = said or word(last, "message") or (event.message if event is not None else "")
        return _not_started(case, one, message, event)
    return None


def _not_started(case: Case, one: ContainerState, said: str, event: Event | None) -> Cause:
    if not _DRIVER.search(said) and event is not None and event.message:
        said = said if said in event.message or not _DRIVER.search(event.message) else event.message
    evidence = [said] if said else []
    if "unsatisfied condition" in said and "cuda" in said:
        summary = (
            f"container {one.name} does not start: the driver of node {node_name(case.pod or {})} is too old for it"
        )
        remedy = f"use an image with an older CUDA, or update the driver of the node: {case.edit}"
        return Cause("cuda-driver", summary, evidence, remedy)
    if _DRIVER.search(said):
        name = word(case.pod, "spec", "runtimeClassName")
        summary = f"container {one.name} does not start: it gets no NVIDIA driver"
        has = f"runtimeClassName is {name}" if name else "the pod has no runtimeClassName"
        remedy = f"set runtimeClassName: nvidia, and ask for a GPU: {case.edit}"
        return Cause("driver-not-injected", summary, [has, *evidence], remedy)
    summary = f"the program of container {one.name} does not start"
    return Cause("container-start", summary, evidence, f"correct command, args or image: {case.edit}")


def _to_correct(case: Case, said: str) -> str:
    named = _OBJECT.search(said)
    if named is None:
        return f"{case.edit}"
    return f"create {named[1]} {named[2]} in namespace {case.namespace}, or correct its name: {case.edit}"


def _before_containers(case: Case, pod: Object) -> Cause | None:
    """The cause before the first container: the newest of failed mounts and sandboxes."""
    event = first(case.events, ("FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox"))
    if event is None:
        return None
    if event.reason == "FailedCreatePodSandBox":
        return _sandbox(case, pod, event)
    # The kubelet repeats that it waits for volumes, without the reason.
    better = next(
        (one for one in case.events if one.reason == event.reason and "MountVolume.SetUp" in one.message), event
    )
    typed = _TYPE.search(better.message)
    if typed is not None:
        summary = f"node {node_name(pod)} has no such folder or file as the volume requires: {typed[1]}"
        is_ours = "/mps" in typed[1]
        remedy = "kubectl gpushare doctor: the node has no MPS daemon" if is_ours else f"{case.edit}"
        return Cause("mount-failed", summary, [str(better)], remedy)
    return Cause("mount-failed", "a volume cannot be mounted", [str(better)], _to_correct(case, better.message))


def _sandbox(case: Case, pod: Object, event: Event) -> Cause:
    handler = _HANDLER.search(event.message)
    if handler is None:
        remedy = f"kubectl describe node {node_name(pod)}: its runtime or network fails"
        return Cause("sandbox", "the sandbox of the pod cannot be created", [str(event)], remedy)
    name = word(pod, "spec", "runtimeClassName")
    unknown = handler[1] or handler[2]
    summary = f"the runtime of node {node_name(pod)} knows no handler {unknown}, which RuntimeClass {name} names"
    remedy = f"install the NVIDIA container toolkit on the node, or change runtimeClassName: {case.edit}"
    return Cause("runtime-handler-missing", summary, [str(event)], remedy)
