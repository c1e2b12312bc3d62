"""Pods that have a node and do not start: mounts, sandboxes, images, configuration, and programs that fail to start."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from webhook.cluster.reading import Object, word
from webhook.diagnose.remedy import Advice, Remedy
from webhook.diagnose.why.case import Case, describe_node
from webhook.diagnose.why.cause import Cause
from webhook.diagnose.why.cuda import to_get_gpu
from webhook.diagnose.why.event import Event, first
from webhook.diagnose.why.pod_state import ContainerState, containers, has_started, is_finished
from webhook.diagnose.words import named, namespace

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
    if pod is None or not case.node_name:
        return
    found = [cause for one in containers(pod) if (cause := _of_container(case, one)) is not None]
    if not found and not is_finished(pod) and not has_started(pod):
        found = list(_before_containers(case, pod))
    yield from found


def _of_container(case: Case, one: ContainerState) -> Cause | None:
    reason, said = word(one.waiting, "reason"), word(one.waiting, "message")
    if reason in _IMAGE:
        event = first(case.events, ("Failed",), "image")
        summary = f"the image of container {one.name} cannot be pulled: {reason}"
        remedy = case.by_edit("correct the image, or its pull secret")
        return Cause("image", summary, [said, "" if event is None else str(event)], remedy)
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
    evidence = [said]
    if "unsatisfied condition" in said and "cuda" in said:
        summary = f"container {one.name} does not start: the driver of node {case.node_name} is too old for it"
        remedy = case.by_edit("use an image with an older CUDA, or update the driver of the node")
        return Cause("cuda-driver", summary, evidence, remedy)
    if _DRIVER.search(said):
        name = word(case.pod, "spec", "runtimeClassName")
        summary = f"container {one.name} does not start: it gets no NVIDIA driver"
        has = f"runtimeClassName is {name}" if name else "the pod has no runtimeClassName"
        on_node = Remedy("install the NVIDIA container toolkit on its node: ", describe_node(case.node_name))
        return Cause("driver-not-injected", summary, [has, *evidence], to_get_gpu(case, one.name) or on_node)
    for pattern, what, advice in _REFUSED:
        if found := pattern.search(said):
            named_so = f"{what} {found[1]}" if found.groups() else what
            summary = f"container {one.name} cannot be created on node {case.node_name}: {named_so}"
            return Cause("container-start", summary, evidence, case.by_edit(f"{advice}"))
    if said and not _PROGRAM.search(said):
        summary = f"container {one.name} cannot be created: {said}"
        return Cause("container-start", summary, evidence, case.by_edit("correct what the message names"))
    summary = f"the program of container {one.name} does not start"
    return Cause("container-start", summary, evidence, case.by_edit("correct command, args or image"))


_PROGRAM: Final = re.compile(r"exec|executable|no such file or directory|permission denied|chdir|user", re.ASCII)
"""Words of a runtime that cannot start the program."""

_REFUSED: Final = (
    (
        re.compile(r"seccomp.*?(?:open |profile )\"?(\S+?\.json)", re.ASCII),
        "there is no seccomp profile",
        "put the seccomp profile on the node, or change seccompProfile in securityContext",
    ),
    (
        re.compile(r"apparmor.*?profile[ \"]+(\S+?)[\" ]|apparmor", re.ASCII | re.IGNORECASE),
        "there is no AppArmor profile",
        "load the AppArmor profile on the node, or change appArmorProfile",
    ),
    (re.compile(r"subPath", re.ASCII), "a subPath of a mount cannot be prepared", "correct subPath of the volumeMount"),
)
"""What else a runtime refuses: the words, the cause, and the remedy."""


def _to_correct(case: Case, said: str) -> Advice:
    found = _OBJECT.search(said)
    if found is None:
        return case.edit
    where = namespace(case.namespace)
    return Remedy(
        f"create {found[1]} ", named(found[1], found[2]), " in namespace ", where, ", or correct its name: ", case.edit
    )


def _before_containers(case: Case, pod: Object) -> Iterator[Cause]:
    """The cause before the first container: the newest of failed mounts and sandboxes."""
    event = first(case.events, ("FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox"))
    if event is None:
        return
    node = case.node_name
    if event.reason == "FailedCreatePodSandBox":
        handler = _HANDLER.search(event.message)
        if handler is None:
            remedy = Remedy(describe_node(node), ": its runtime or network fails")
            yield Cause("sandbox", "the sandbox of the pod cannot be created", [str(event)], remedy)
            return
        name = word(pod, "spec", "runtimeClassName")
        unknown = handler[1] or handler[2]
        summary = f"the runtime of node {node} knows no handler {unknown}, which RuntimeClass {name} names"
        remedy = case.by_edit("install the NVIDIA container toolkit on the node, or change runtimeClassName")
        yield Cause("runtime-handler-missing", summary, [str(event)], remedy)
        return
    # The kubelet repeats that it waits for volumes, without the reason.
    better = first(case.events, (event.reason,), "MountVolume.SetUp") or event
    if (typed := _TYPE.search(better.message)) is not None:
        summary = f"node {node} has no such folder or file as the volume requires: {typed[1]}"
        advice = case.of_daemon if "/mps" in typed[1] else case.edit
        yield Cause("mount-failed", summary, [str(better)], advice)
        return
    yield Cause("mount-failed", "a volume cannot be mounted", [str(better)], _to_correct(case, better.message))
