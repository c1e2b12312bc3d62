"""Triton with TensorRT-LLM: `launch_triton_server.py`.

`--world_size`, 1 by default, is the number of `tritonserver` processes that it starts through mpirun in this container,
one GPU each (triton-inference-server/tensorrtllm_backend scripts/launch_triton_server.py before c4a49e8; since then in
NVIDIA/TensorRT-LLM triton_backend/scripts).
"""

from __future__ import annotations

from webhook.policy.launchers.words import Launch, Line, Options, Spread

SCRIPT = "launch_triton_server.py"

_WORLD = "--world-size"


def launch(line: Line, start: int) -> Launch | None:
    """The servers of the words after the script; None if they do not say."""
    options = Options(line, start, {_WORLD: _WORLD})
    total = options.number(_WORLD)
    if total is None:
        return None
    place = line.place(options.index(_WORLD))
    return Launch(SCRIPT, "--world_size", total, total, total, Spread.CONTAINER, False, place)
