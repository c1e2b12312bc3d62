"""Containers that end with an error: killed for memory or by a probe, with an exit code, or with an error of CUDA."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from webhook.cluster.objects import LOG_LINES
from webhook.cluster.reading import Object, entries, number, part, word
from webhook.diagnose.finding import Finding, Remedy
from webhook.diagnose.pods import asking, extended
from webhook.diagnose.why.case import Case, Helps, Row, by_words
from webhook.diagnose.why.state import ContainerState, containers, phase
from webhook.policy.messages import cut
from webhook.policy.pods.pod import PIPE_DIRECTORY

_MOST: Final = 100
"""Containers of a pod that are looked at: each looks for its limit among all."""

_SIGKILL: Final = 137
_SIGNALS: Final = {137: "SIGKILL", 139: "SIGSEGV", 143: "SIGTERM", 134: "SIGABRT", 132: "SIGILL", 135: "SIGBUS"}


def causes(case: Case) -> Iterator[Finding]:
    """The causes for which containers of the pod end."""
    yield from islice(_known_errors(case), 1)
    for one in islice(containers(case.pod), _MOST):
        yield from _of_container(case, one)


def _known_errors(case: Case) -> Iterator[Finding]:
    """The known errors in the last lines of the log, and in what a probe says: later ones are often consequences."""
    log, probe = case.log, case.event("Unhealthy")
    texts = [] if log is None else [(log.container, f"log of container {log.container}", log.text)]
    if probe:
        texts.append((next(iter(asking(case.pod, extended)), ""), "probe", probe.message))
    for container, where, text in texts:
        for line in text.splitlines()[-LOG_LINES:]:
            said = cut(line, _LONGEST)
            yield from by_words(case, KNOWN, said, [f"{where}: {said.strip()}"], container=container)


def _of_container(case: Case, one: ContainerState) -> Iterator[Finding]:
    probe = str(case.event("Killing", text=f"Container {one.name} failed "))
    last, reason = one.failure, word(one.failure, "reason")
    # An end is history where the container runs again, and is ready.
    matters = one.ended or one.waiting or not one.ready or phase(case.pod) == "Failed"
    limit = word(_written(case, one.name), "resources", "limits", "memory")
    if probe and one.restarts:
        summary = f"the kubelet kills container {one.name}, because its probe fails"
        remedy = "correct the probe, or give the program more time: {edit}"
        yield case.cause("liveness", summary, [probe, str(case.event("Unhealthy"))], remedy)
    elif not last or not matters or reason in ("StartError", "ContainerCannotRun"):
        return
    elif reason == "OOMKilled":
        yield _out_of_memory(case, one, limit, "needs", reason)
    # A runtime that misses the event of the kernel reports the reason Error. The kubelet kills too, and says so.
    elif number(last, "exitCode") == _SIGKILL and limit and not case.event("Killing", "Preempting", "Evicted"):
        how = "exit code 137 (SIGKILL), and no event of the kubelet that names a reason"
        yield _out_of_memory(case, one, limit, "was killed, probably because it needs", how)
    else:
        yield _exit(case, one, last)


def _written(case: Case, name: str) -> Object:
    """A container as the spec of the pod has it; empty for an unknown one."""
    listed = (*entries(case.pod, "spec", "initContainers"), *entries(case.pod, "spec", "containers"))
    return next((one for one in listed if word(one, "name") == name), {})


def _out_of_memory(case: Case, one: ContainerState, limit: str, needs: str, how: str) -> Finding:
    summary = f"container {one.name} {needs} more host memory than its limit{f' of {limit}' if limit else ''}"
    evidence = [how, _times(one), "the limit is on memory of the node, not of the GPU"]
    return case.cause("out-of-memory-killed", summary, evidence, "raise resources.limits.memory: {edit}")


def _exit(case: Case, one: ContainerState, last: Object) -> Finding:
    code = number(last, "exitCode")
    signal = f" ({_SIGNALS[code]})" if code in _SIGNALS else ""
    kind = "init container" if one.is_init else "container"
    summary = f"{kind} {one.name} ends with exit code {code}{signal}"
    said = word(last, "message")
    wanted = class_wanted(case) if any(one.runtime_class for one in case.chains) else None
    hint = f"the device plugin runs under RuntimeClass {wanted}, and the pod under none" if wanted else ""
    evidence = [_times(one), f"termination message: {said}" if said else "", hint]
    if case.log is None:
        return case.cause("exit-code", summary, evidence, "`kubectl gpushare why {pod} --logs`")
    lines = [line for line in case.log.text.splitlines() if line.strip()]
    evidence += [f"log: {line.strip()}" for line in lines[-3:]]
    show = "read the log: `kubectl logs {pod} -c {container} {previous}`"
    previous = [] if one.ended else ["--previous"]
    return case.cause("exit-code", summary, evidence, show, container=one.name, previous=previous)


def _times(one: ContainerState) -> str:
    return f"it was restarted {one.restarts} times" if one.restarts > 1 else ""


# Errors of CUDA, MPS and NCCL in a log, by the words of cudaGetErrorString and cuGetErrorName (CUDA 13, driver_types.h
# and cuda.h), and by those that PyTorch, JAX and NCCL print for the same errors. A log that names a number instead is
# recognized too.

_SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 - a path in the container
_LONGEST: Final = 2000
"""Characters of a line that are searched."""


def to_get_gpu(case: Case, container: str) -> Remedy:
    """What a container lacks of all that brings driver and GPU into it; empty if it lacks nothing."""
    steps = [] if container in asking(case.pod, extended) else ["ask for nvidia.com/gpu: 1"]
    if (name := class_wanted(case)) is not None:
        steps.append(f"set runtimeClassName: {name}")
    variables = _variables(case, container)
    steps += [f"remove {name}" for name in ("NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES") if name in variables]
    return Remedy(", and ".join(steps), ": ", case.edit) if steps else Remedy()


def _variables(case: Case, container: str) -> set[str]:
    return {word(each, "name") for each in entries(_written(case, container), "env")}


def class_wanted(case: Case) -> str | None:
    """The RuntimeClass that the pod lacks: that of the device plugin of its node; None if it has one, or needs none."""
    if word(case.pod, "spec", "runtimeClassName"):
        return None
    known = next((one.runtime_class for one in case.chains if one.runtime_class is not None), None)
    return (known or None) if known is not None else case.settings.injections.runtime_class.name


# Remedies that depend on the pod.


def _for_driver(case: Case, container: str) -> str | Remedy:
    if class_wanted(case) is not None:
        return to_get_gpu(case, container)
    return "use an image with an older CUDA, or update the driver of the node: {edit}"


def _for_device(case: Case, container: str) -> str | Remedy:
    look = "look whether the node's driver works: `kubectl exec {pod} -c {container} -- nvidia-smi`"
    return to_get_gpu(case, container) or f"the pod lacks nothing; {look}"


def _for_connection(case: Case, container: str) -> str:
    for one in (part(case.pod, "spec"), *entries(case.pod, "spec", "containers")):
        user = part(one, "securityContext").get("runAsUser")
        if isinstance(user, int):
            return (
                f"the MPS server serves one user at a time, and the pod runs as user {user}: set the same runAsUser in "
                "all pods that share the node, or remove it: {edit}"
            )
    return _for_daemon(case, container)


def _for_daemon(case: Case, container: str) -> str:
    """What helps where a client does not reach the MPS server: what is broken on its node, if that is known."""
    chain = next(iter(case.chains), None)
    if chain is not None and chain.strategy == "mps" and PIPE_DIRECTORY in _variables(case, container):
        return "remove CUDA_MPS_PIPE_DIRECTORY, which the device plugin sets: {edit}"
    if chain is None or chain.unseen or chain.broken is not None:
        return "{daemon}"
    return "the daemon runs, so that the pod has to connect again: {again}"


def _for_shared_memory(case: Case, _container: str) -> str:
    mounts = [mount for one in entries(case.pod, "spec", "containers") for mount in entries(one, "volumeMounts")]
    if any(word(one, "mountPath") == _SHARED_MEMORY for one in mounts):
        return "raise sizeLimit of the volume at /dev/shm, and the memory limit: {edit}"
    return "mount an emptyDir with medium: Memory at /dev/shm, or start fewer workers: {edit}"


def _for_profiling(case: Case, container: str) -> str:
    if container not in asking(case.pod, extended):
        return "ask for nvidia.com/gpu: 1, so that no other pod takes memory of the card: {edit}"
    return "start programs of the card one after the other, or lower --gpu-memory-utilization: {edit}"


def _known(cause: str, words: str, summary: str, remedy: Helps, *codes: int) -> Row:
    """A known error. `codes` are its numbers, as in "CUDA error 805" and "cudaSetDevice failed: 806"."""
    if codes:
        numbers = "|".join(map(str, codes))
        words += rf"|\bcu\w{{0,40}}\b[^\d\n]{{0,40}}?(?:error|code|status|failed)[^\d\n]{{0,20}}\b(?:{numbers})\b"
    return Row(cause, words, f"{summary} (container {{container}})", remedy)


_RESTART: Final = "restart the pod, which loses what its programs have not saved"

KNOWN: Final = (
    _known(
        "nccl-duplicate-gpu",
        r"Duplicate GPU detected|Multiple Ranks are using the same GPU",
        "two ranks of NCCL use one GPU",
        "run one rank per pod and per card, or set NCCL_MULTI_RANK_GPU_ENABLE=1 where NCCL supports it",
    ),
    _known(
        "cuda-mps-terminated",
        r"MPS_?CLIENT_?TERMINATED|MPS client has been terminated",
        "the MPS server terminated the client, as the command terminate_client of the control daemon does",
        f"{_RESTART}; the log of the MPS control daemon's pod names the command",
        810,
    ),
    _known(
        "cuda-illegal-address",
        r"CUDA_?ERROR_?ILLEGAL_?ADDRESS|illegal memory access was encountered",
        "the program used an address that is not mapped, or another MPS client of the card did so or was killed in the "
        "middle of a kernel",
        "restart the pod, which loses what its programs have not saved; look for a pod of the same card that ended "
        "then: `kubectl gpushare top -A` shows the pods",
        700,
    ),
    _known(
        "cuda-mps-clients",
        r"MPS_?MAX_?(?:CLIENTS|CONNECTIONS)_?REACHED|required to (?:create MPS client|support device connections) have",
        "the card has as many MPS clients as it can serve",
        "start fewer processes per replica, or lower replicas in the device plugin's configuration",
        808,
        809,
    ),
    _known(
        "cuda-mps-not-ready",
        r"MPS_?SERVER_?NOT_?READY|MPS server is not ready",
        "the MPS server does not accept clients now: it recovers from a fault of one of its clients",
        f"{_RESTART}; if the error stays, restart the MPS control daemon's pod, which ends each program of the node "
        "that uses MPS",
        807,
    ),
    _known(
        "cuda-mps-connection",
        r"MPS_?CONNECTION_?FAILED|MPS_?RPC_?FAILURE|MPS client failed to connect|procedur\w+ call between the MPS",
        "the client does not reach the MPS server",
        _for_connection,
        805,
        806,
    ),
    _known(
        "cuda-busy",
        r"CUDA_?ERROR_?DEVICES?_?UNAVAILABLE|devices are busy or unavailable|device\(s\) is/are busy",
        "the card is busy: it is in exclusive mode, and the client does not reach the MPS server that holds it",
        _for_daemon,
        46,
    ),
    _known(
        "cuda-no-kernel",
        r"no kernel image is available for execution|NO_?KERNEL_?IMAGE_?FOR_?DEVICE|NO_?BINARY_?FOR_?GPU",
        "the program of the image is not built for the compute capability of the card",
        "use an image that is built for the card, or select nodes with a newer one: {edit}",
        209,
    ),
    _known(
        "gpu-memory-utilization",
        r"less than desired GPU memory utilization",
        "vLLM wants more of the card's memory than is free, which other pods of a shared card use",
        "lower --gpu-memory-utilization below the share of the card that is free: {edit}",
    ),
    _known(
        "cuda-out-of-memory",
        r"CUDA out of memory|cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY|RESOURCE_EXHAUSTED: Out of memory|"
        r"CUDA error: out of memory",
        "the memory of the replica is exhausted",
        "use less memory, such as a smaller batch, or nodes with fewer replicas: `kubectl gpushare top` shows the "
        "shares",
    ),
    _known(
        "cuda-driver",
        r"INSUFFICIENT_?DRIVER|driver version is insufficient|libcuda\.so[.\d]*: cannot open|Found no NVIDIA driver|"
        r"libnvidia-ml\.so[.\d]*: cannot open|Failed to infer device type|No platform detected|"
        r"NVML Shared Library Not Found",
        "the container has no NVIDIA driver, or one that is too old for its CUDA",
        _for_driver,
        35,
    ),
    _known(
        "cuda-no-device",
        r"cudaErrorNoDevice|CUDA_ERROR_NO_DEVICE|no CUDA-capable device is detected|No CUDA GPUs are available",
        "the container sees no GPU",
        _for_device,
        100,
    ),
    _known(
        "gpu-lost",
        r"Failed to initialize NVML: Unknown Error",
        "the container lost its GPUs after it had started, as when systemd reloads the units of the node",
        "restart the pod: {again}; so that it keeps its GPUs, let the container toolkit use CDI, or run on the node at "
        "each boot: `nvidia-ctk system create-dev-char-symlinks --create-all`",
    ),
    _known(
        "memory-profiling",
        r"Error in memory profiling",
        "another program of the card took or freed memory while vLLM measured it",
        _for_profiling,
    ),
    _known(
        "shared-memory",
        r"DataLoader worker .*killed by signal: Bus|out of shared memory|unable to (?:open|mmap|write).*shm",
        "the shared memory (/dev/shm) of the container is too small",
        _for_shared_memory,
    ),
)
"""The known errors. The first one of a line counts."""
