"""Text Generation Inference: `text-generation-launcher`, which is also the entrypoint of its image.

`--num-shard` is the number of GPUs; without it the server takes what it sees (huggingface/text-generation-inference
launcher/src/main.rs and tgi-entrypoint.sh, 3.3.7). No other server has an option of this name.
"""

from __future__ import annotations

from webhook.policy.launchers.launch import Launch, Spread
from webhook.policy.launchers.line import Line
from webhook.policy.launchers.options import Options

_SHARDS = "--num-shard"


def launch(line: Line, start: int) -> Launch | None:
    """The shards of the words from an index on; None if they do not say."""
    options = Options(line, start, {_SHARDS: _SHARDS})
    total = options.number(_SHARDS)
    if total is None:
        return None
    place = line.place(options.index(_SHARDS))
    return Launch("text-generation-launcher", _SHARDS, total, total, total, Spread.CONTAINER, False, place)
