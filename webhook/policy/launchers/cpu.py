"""The words by which a program says that it computes on the CPU, or that its ranks communicate without NCCL."""

from __future__ import annotations

from webhook.policy.launchers.line import Line

_WORDS = frozenset({"gloo", "--cpu", "--use-cpu", "--no-cuda", "--device=cpu", "--platform=cpu", "--accelerator=cpu"})
_BEFORE_CPU = frozenset({"--device", "--platform", "--accelerator", "--device-type"})


def is_on_cpu(line: Line, start: int = 0) -> bool:
    """Whether a word from an index on names the CPU, or the backend `gloo` (pytorch/pytorch torch/distributed)."""
    words = line.words
    for index in range(start, len(words)):
        word = words[index]
        if word.endswith("gloo") or word.endswith("cpu") or word.startswith("--no"):
            plain = word.replace("_", "-")
            if plain in _WORDS or plain.endswith("=gloo"):
                return True
            if plain == "cpu" and index > start and words[index - 1] in _BEFORE_CPU:
                return True
    return False
