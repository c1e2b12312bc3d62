"""Pods with a node that do not start: rejected by the kubelet, or held by mounts, sandboxes, images and programs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from webhook.cluster.reading import Object, is_true, word
from webhook.diagnose.finding import Finding, Remedy
from webhook.diagnose.pods import UNEXPECTED
from webhook.diagnose.why.case import Case, Row, by_words
from webhook.diagnose.why.crashing import to_get_gpu
from webhook.diagnose.why.state import ContainerState, containers, has_started, is_finished, phase

# Rejected by the kubelet: they have failed for good.


def rejected(case: Case) -> Iterator[Finding]:
    """The cause for which the kubelet rejected the pod."""
    pod = case.pod
    if phase(pod) != "Failed":
        return
    reason, said = word(pod, "status", "reason"), word(pod, "status", "message")
    evidence = [f"node {case.node_name}: {said}"] if said else [str(case.event(UNEXPECTED))]
    job = next((found for kind, found in case.makers if kind == "Job" and is_true(found, "Complete")), None)
    if reason == UNEXPECTED and job is not None:
        summary = (
            f"Job {word(job, 'metadata', 'name')} has completed: the kubelet restarted, and rejected its finished pod"
        )
        yield case.cause("devices-unavailable", summary, evidence, "`kubectl delete pod {pod}`")
    else:
        yield from by_words(case, REJECTIONS, f"{reason}: {said or evidence[0]}", evidence)


REJECTIONS: Final = (
    Row(
        "devices-unavailable",
        # kubernetes pkg/kubelet/cm/devicemanager/manager.go `devicesToAllocate`
        rf"^{UNEXPECTED}.*(?:devices unavailable|no healthy devices|unhealthy devices|"
        "no containers return in allocation|registered device)",
        "the kubelet had fewer healthy devices than the pod asks for, as after a restart of the device plugin",
        "{again}",
    ),
    Row(
        "more-than-one-replica",
        # the device plugin's words, which differ between versions (internal/rm `ValidateRequest`)
        rf"^{UNEXPECTED}.*(?:maximum request size|request for .* too large|invalid allocation request)",
        "a container asks for more than one replica, which the device plugin refuses",
        "ask for 1, or require nodes with whole cards: {edit}",
    ),
    Row("unexpected-admission", f"^{UNEXPECTED}", "the kubelet or a device plugin rejected the pod", "{again}"),
    Row(
        "out-of-resources",
        r"^OutOf(?P<lacking>\S{1,320}): ",
        "node {node} lacks {lacking} for the pod: the scheduler did not choose the node, or the node changed since",
        "{again}",
    ),
    Row(
        "node-affinity-changed",
        r"^\w*NodeAffinity: ",
        "the labels of node {node} do not meet the pod's node selector or affinity",
        "{again}",
    ),
    Row("host-port", r"^\w*(?:Host|Node)Ports: ", "another pod uses the host port on node {node}", "{again}"),
    Row(
        "unexpected-admission",
        r"^\w*AffinityError: ",
        "the kubelet of node {node} cannot allocate CPUs or devices as its topology policy requires",
        "{again}",
    ),
)
"""The reasons of a rejected pod, and the words after them."""


# Held before their programs run.

_IMAGE: Final = frozenset(
    "ErrImagePull ImagePullBackOff InvalidImageName ErrImageNeverPull RegistryUnavailable ImageInspectError "
    "SignatureValidationFailed".split()
)
_CONFIG: Final = frozenset({"CreateContainerConfigError", "CreateContainerConfigurationError"})
_START: Final = frozenset({"CreateContainerError", "RunContainerError", "StartError", "ContainerCannotRun"})


_MISSING: Final = r'(?P<kind>configmap|secret) "(?P<object>[^"]{1,253})" not found'
_CREATE: Final = "create {kind} {object} in namespace {namespace}, or correct its name: {edit}"

CONFIGURED: Final = (
    Row("container-config", _MISSING, "container {container} cannot be configured: {said}", _CREATE),
    Row("container-config", "", "container {container} cannot be configured: {said}", "{edit}"),
)
"""What the environment of a container lacks, by the words of the kubelet."""


def causes(case: Case) -> Iterator[Finding]:
    """The causes for which containers of a pod with a node do not start."""
    pod = case.pod
    if not case.node_name:
        return
    found = [cause for one in containers(pod) for cause in _of_container(case, one)]
    if not found and not is_finished(pod) and not has_started(pod):
        found = list(_before_containers(case, pod))
    yield from found


def _of_container(case: Case, one: ContainerState) -> Iterator[Finding]:
    reason, said = word(one.waiting, "reason"), word(one.waiting, "message")
    if reason in _IMAGE:
        summary = f"the image of container {one.name} cannot be pulled: {reason}"
        remedy = "correct the image, or its pull secret: {edit}"
        yield case.cause("image", summary, [said, str(case.event("Failed", text="image"))], remedy)
    elif reason in _CONFIG:
        yield from by_words(case, CONFIGURED, said, [], container=one.name, said=said or reason)
    last = one.ended or one.ended_before
    if reason in _START or (word(last, "reason") in _START and not one.running):
        yield from _not_started(case, one, said or word(last, "message"))


def _not_started(case: Case, one: ContainerState, said: str) -> Iterator[Finding]:
    event = case.event("Failed")
    if event and (not said or (_DRIVER.search(event.message) and not _DRIVER.search(said))):
        said = event.message
    evidence = [said]
    if _DRIVER.search(said) and "unsatisfied condition" not in said:
        name = word(case.pod, "spec", "runtimeClassName")
        evidence.insert(0, f"runtimeClassName is {name}" if name else "the pod has no runtimeClassName")
    return by_words(case, STARTS, said, evidence, container=one.name, said=said)


def _for_driver(case: Case, container: str) -> str | Remedy:
    install = "install the NVIDIA container toolkit on its node: `kubectl describe node {node}`"
    return to_get_gpu(case, container) or install


_DRIVER: Final = re.compile(
    r"nvidia-smi|libcuda|libnvidia|nvidia-container|nvidia-cdi|unresolvable CDI devices|nvidia\.com/gpu=", re.ASCII
)

STARTS: Final = (
    Row(
        "cuda-driver",
        "unsatisfied condition.*cuda",
        "container {container} does not start: the driver of node {node} is too old for it",
        "use an image with an older CUDA, or update the driver of the node: {edit}",
    ),
    Row(
        "cuda-driver",
        "driver/library version mismatch",
        "container {container} does not start: the kernel module of the driver on node {node} is older or newer than "
        "its libraries",
        "reboot the node, and keep NVIDIA's packages out of its unattended upgrades: `kubectl describe node {node}`",
    ),
    Row(
        "driver-not-injected",
        "unresolvable CDI devices",
        "container {container} does not start: node {node} has no CDI specification of its GPU",
        "run on the node: `nvidia-ctk cdi generate --output=/var/run/cdi/nvidia.yaml`, or restart its pod of the "
        "container toolkit",
    ),
    Row(
        "driver-not-injected",
        _DRIVER.pattern,
        "container {container} does not start: it gets no NVIDIA driver",
        _for_driver,
    ),
    Row(
        "container-start",
        r"seccomp.{0,256}?(?:open |profile )\"?(?P<profile>\S{1,512}?\.json)",
        "container {container} cannot be created on node {node}: there is no seccomp profile {profile}",
        "put the seccomp profile on the node, or change seccompProfile in securityContext: {edit}",
    ),
    Row(
        "container-start",
        "apparmor",
        "container {container} cannot be created on node {node}: there is no AppArmor profile as it names",
        "load the AppArmor profile on the node, or change appArmorProfile: {edit}",
    ),
    Row(
        "container-start",
        "subPath",
        "container {container} cannot be created on node {node}: a subPath of a mount cannot be prepared",
        "correct subPath of the volumeMount: {edit}",
    ),
    Row(
        "container-start",
        r"^$|exec|no such file or directory|permission denied|chdir|user",
        "the program of container {container} does not start",
        "correct command, args or image: {edit}",
    ),
    Row(
        "container-start",
        "",
        "container {container} cannot be created: {said}",
        "correct what the message names: {edit}",
    ),
)
"""What a runtime refuses, by its words; the last row is for all others."""


def _before_containers(case: Case, pod: Object) -> Iterator[Finding]:
    """The cause before the first container: the newest of failed mounts and sandboxes."""
    event = case.event("FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox")
    if not event:
        return
    # The kubelet repeats that it waits for volumes, without the reason.
    better = case.event(event.reason, text="MountVolume.SetUp") or event
    name, said = word(pod, "spec", "runtimeClassName"), f"{better.reason}: {better.message}"
    yield from by_words(case, BEFORE, said, [str(better)], runtimeclass=name)


BEFORE: Final = (
    Row(
        "runtime-handler-missing",
        r'^FailedCreatePodSandBox: .*(?:no runtime for|runtime handler) "?(?P<handler>[^"\s]{1,253})"? (?:is|not)',
        "the runtime of node {node} knows no handler {handler}, which RuntimeClass {runtimeclass} names",
        "install the NVIDIA container toolkit on the node, or change runtimeClassName: {edit}",
    ),
    Row(
        "sandbox",
        "^FailedCreatePodSandBox: ",
        "the sandbox of the pod cannot be created",
        "`kubectl describe node {node}`: its runtime or network fails",
    ),
    Row(
        "mount-failed",
        r"hostPath type check failed: (?P<path>\S{0,512}/mps\S{0,512}) is not",
        "node {node} has no such folder or file as the volume requires: {path}",
        "{daemon}",
    ),
    Row(
        "mount-failed",
        r"hostPath type check failed: (?P<path>\S{1,1024}) is not",
        "node {node} has no such folder or file as the volume requires: {path}",
        "{edit}",
    ),
    Row("mount-failed", _MISSING, "a volume cannot be mounted", _CREATE),
    Row("mount-failed", "", "a volume cannot be mounted", "{edit}"),
)
"""What keeps a pod from its first container, by the reason and the words of an event."""
