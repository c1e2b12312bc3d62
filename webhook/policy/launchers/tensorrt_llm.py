"""TensorRT-LLM: `trtllm-serve`.

A server takes `--tp_size` x `--pp_size` x `--cp_size` GPUs, each 1 by default; expert parallelism uses the same ones
(NVIDIA/TensorRT-LLM tensorrt_llm/commands/serve.py at 00209af). With more than one node it runs below
`trtllm-llmapi-launch` and mpirun, which distribute its ranks.
"""

from __future__ import annotations

from webhook.policy.launchers.words import Launch, Line, Options, Spread

LAUNCHER = "trtllm-llmapi-launch"

_TENSOR, _PIPELINE, _CONTEXT = "--tp_size", "--pp_size", "--cp_size"
_ALIASES = {
    **{"--tp-size": _TENSOR, "--tensor-parallel-size": _TENSOR, "--pp-size": _PIPELINE},
    **{"--pipeline-parallel-size": _PIPELINE, "--cp-size": _CONTEXT, "--context-parallel-size": _CONTEXT},
}


def launch(line: Line, start: int) -> Launch | None:
    """The server of the words after the program; None if they leave it open."""
    options = Options(line, start, _ALIASES)
    factors = {name: options.factor(name) for name in (_TENSOR, _PIPELINE, _CONTEXT)}
    option = max(factors, key=lambda name: factors[name])
    if option not in options:
        return None
    total = factors[_TENSOR] * factors[_PIPELINE] * factors[_CONTEXT]
    is_elsewhere = any(word.endswith(LAUNCHER) for word in line.words[:start])
    spread, each = (Spread.CLUSTER, 1) if is_elsewhere else (Spread.CONTAINER, total)
    place = line.place(options.index(option))
    spans = is_elsewhere and total > 1
    return Launch("trtllm-serve", option, factors[option], each, total, spread, spans, place)
