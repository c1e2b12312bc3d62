"""The words and variables by which a container lets ranks of NCCL share a GPU, or does without NCCL.

`NCCL_MULTI_RANK_GPU_ENABLE=1` lets several ranks of a communicator use one GPU, since 2.30; it is experimental
(NVIDIA/nccl docs/userguide/source/env.rst and src/init.cc, 2.30.7). With the backend `gloo`, PyTorch's ranks
communicate without NCCL.
"""

from __future__ import annotations

from webhook.policy.launchers.find import arguments
from webhook.policy.pods.pod import MULTI_RANK, Container

_MARKS = ("gloo", f"{MULTI_RANK}=1")


def may_share_gpu(container: Container) -> bool:
    """Whether the container says so. Raises MalformedError."""
    entry = container.variable(MULTI_RANK)
    if entry is not None and entry.get("value") == "1":
        return True
    words, _, _ = arguments(container.raw, container.path)
    return any(mark in word for word in words for mark in _MARKS)
