"""Errors of CUDA, MPS and NCCL in the log of a container, by the words of the libraries.

The words are those of cudaGetErrorString and cuGetErrorName (CUDA 13, driver_types.h and cuda.h), and those that
PyTorch, JAX and NCCL print for the same errors. A log that names a number instead is recognized too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from webhook.cluster.objects import LOG_LINES
from webhook.policy.messages import cut

_LONGEST: Final = 2000
"""Characters of a line that are searched."""


class Known(NamedTuple):
    """A known error: its cause, the words that show it, a summary, and a remedy."""

    cause: str
    words: re.Pattern[str]
    summary: str
    remedy: str


def _numbered(*codes: int) -> str:
    """The number of an error, as in "CUDA error 805" and "cudaSetDevice failed: 806"."""
    numbers = "|".join(map(str, codes))
    return rf"\bcu\w{{0,40}}\b[^\d\n]{{0,40}}?(?:error|code|status|failed)[^\d\n]{{0,20}}\b(?:{numbers})\b"


def _known(cause: str, words: str, summary: str, remedy: str, *codes: int) -> Known:
    pattern = f"{words}|{_numbered(*codes)}" if codes else words
    return Known(cause, re.compile(pattern, re.IGNORECASE | re.ASCII), summary, remedy)


KNOWN: Final[Sequence[Known]] = (
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
        "restart the pod; the log of the MPS control daemon's pod names the command",
        810,
    ),
    _known(
        "cuda-illegal-address",
        r"CUDA_?ERROR_?ILLEGAL_?ADDRESS|illegal memory access was encountered",
        "the program used an address that is not mapped, or another MPS client of the card did so or was killed in the "
        "middle of a kernel",
        "restart the pod; look for a pod of the same card that ended then: kubectl gpushare top -A shows the pods",
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
        "restart the pod; if the error stays, restart the MPS control daemon's pod",
        807,
    ),
    _known(
        "cuda-mps-connection",
        r"MPS_?CONNECTION_?FAILED|MPS_?RPC_?FAILURE|MPS client failed to connect|procedur\w+ call between the MPS",
        "the client does not reach the MPS server",
        "kubectl gpushare doctor: the daemon is down, or the pod does not see its pipe directory",
        805,
        806,
    ),
    _known(
        "cuda-busy",
        r"CUDA_?ERROR_?DEVICES?_?UNAVAILABLE|devices are busy or unavailable",
        "the card is busy: it is in exclusive mode, and the client does not reach the MPS server that holds it",
        "kubectl gpushare doctor: the daemon is down, or the pod does not see its pipe directory",
        46,
    ),
    _known(
        "cuda-out-of-memory",
        r"CUDA out of memory|cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY|RESOURCE_EXHAUSTED: Out of memory|"
        r"CUDA error: out of memory",
        "the memory of the replica is exhausted",
        "use less memory, such as a smaller batch, or nodes with fewer replicas: kubectl gpushare top shows the shares",
    ),
    _known(
        "cuda-driver",
        r"INSUFFICIENT_?DRIVER|driver version is insufficient|libcuda\.so[.\d]*: cannot open|Found no NVIDIA driver|"
        r"libnvidia-ml\.so[.\d]*: cannot open",
        "the container has no NVIDIA driver, or one that is too old for its CUDA",
        "set runtimeClassName: nvidia, or use an image with an older CUDA",
        35,
    ),
    _known(
        "cuda-no-device",
        r"cudaErrorNoDevice|CUDA_ERROR_NO_DEVICE|no CUDA-capable device is detected|No CUDA GPUs are available",
        "the container sees no GPU",
        "ask for a replica, set runtimeClassName: nvidia, and leave CUDA_VISIBLE_DEVICES unset",
        100,
    ),
)


class Found(NamedTuple):
    """A known error, and the line of the log that shows it."""

    known: Known
    line: str


def find(text: str) -> Found | None:
    """The first known error in the last lines of a log: those that follow it are often its consequences."""
    lines = text.splitlines()[-LOG_LINES:]
    for line in lines:
        short = cut(line, _LONGEST)
        known = next((one for one in KNOWN if one.words.search(short)), None)
        if known is not None:
            return Found(known, short.strip())
    return None
