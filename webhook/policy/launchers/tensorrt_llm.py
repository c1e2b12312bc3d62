"""TensorRT-LLM: `trtllm-serve`, and Triton with TensorRT-LLM."""

from __future__ import annotations

from webhook.policy.launchers.words import CommandLine, Launch, Options, Spread

_LAUNCHER = "trtllm-llmapi-launch"

_TENSOR, _PIPELINE, _CONTEXT = "--tp_size", "--pp_size", "--cp_size"
_ALIASES = {
    **{"--tp-size": _TENSOR, "--tensor-parallel-size": _TENSOR, "--pp-size": _PIPELINE},
    **{"--pipeline-parallel-size": _PIPELINE, "--cp-size": _CONTEXT, "--context-parallel-size": _CONTEXT},
}


def serve(line: CommandLine, start: int) -> Launch | None:
    """The server of `trtllm-serve`, from the words after the program; None if they leave it open.

    A server takes `--tp_size` x `--pp_size` x `--cp_size` GPUs, each 1 by default; expert parallelism uses the same
    GPUs (NVIDIA/TensorRT-LLM tensorrt_llm/commands/serve.py at 00209af). With more than one node it runs below
    `trtllm-llmapi-launch` and mpirun, which distribute its ranks.
    """
    options = Options(line, start, _ALIASES)
    factors = {name: options.factor(name) for name in (_TENSOR, _PIPELINE, _CONTEXT)}
    option = max(factors, key=lambda name: factors[name])
    if option not in options:
        return None
    total = factors[_TENSOR] * factors[_PIPELINE] * factors[_CONTEXT]
    is_elsewhere = any(word.endswith(_LAUNCHER) for word in line.words[:start])
    spread, each = (Spread.CLUSTER, 1) if is_elsewhere else (Spread.CONTAINER, total)
    place = line.place(options.index(option))
    spans = is_elsewhere and total > 1
    return Launch("trtllm-serve", option, factors[option], each, total, spread, spans, place)


TRITON = "launch_triton_server.py"

_WORLD = "--world-size"


def triton(line: CommandLine, start: int) -> Launch | None:
    """The servers of `launch_triton_server.py`, from the words after the script; None if they do not say.

    `--world_size`, 1 by default, is the number of `tritonserver` processes that it starts through mpirun in this
    container, one GPU each (triton-inference-server/tensorrtllm_backend scripts/launch_triton_server.py before c4a49e8;
    since then in NVIDIA/TensorRT-LLM triton_backend/scripts).
    """
    options = Options(line, start, {_WORLD: _WORLD})
    total = options.number(_WORLD)
    if total is None:
        return None
    place = line.place(options.index(_WORLD))
    return Launch(TRITON, "--world_size", total, total, total, Spread.CONTAINER, False, place)
