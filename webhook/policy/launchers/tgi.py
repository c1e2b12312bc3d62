"""Text Generation Inference: `text-generation-launcher`, which is also the entrypoint of its image.

`--num-shard` is the number of GPUs, or the variable `NUM_SHARD` in its absence; without either the server takes what it
sees (huggingface/text-generation-inference launcher/src/main.rs and tgi-entrypoint.sh, 3.3.7). No other server has an
option of this name. The variable counts in images of the project, by their name.
"""

from __future__ import annotations

from webhook.policy.launchers.words import CommandLine, Launch, Options, Spread, number
from webhook.policy.pods.pod import SHARDS, Container

_PROGRAM = "text-generation-launcher"
_SHARDS = "--num-shard"
_IMAGE = "text-generation-inference"
_LONGEST = 512
"""Characters of the name of an image that are read."""


def launch(line: CommandLine, start: int) -> Launch | None:
    """The shards of the words from an index on; None if they do not say."""
    options = Options(line, start, {_SHARDS: _SHARDS})
    total = options.number(_SHARDS)
    if total is None:
        return None
    place = line.place(options.index(_SHARDS))
    return Launch(_PROGRAM, _SHARDS, total, total, total, Spread.CONTAINER, False, place)


def of_environment(container: Container) -> Launch | None:
    """The shards of the variable of a container that runs the image's entrypoint; None if it does not say."""
    index = container.variables.get(SHARDS)
    image, value = container.raw.get("image"), (container.variable(SHARDS) or {}).get("value")
    if index is None or not isinstance(image, str) or _IMAGE not in image[:_LONGEST] or container.raw.get("command"):
        return None
    total = number(value) if isinstance(value, str) else None
    if total is None:
        return None
    return Launch(_PROGRAM, SHARDS, total, total, total, Spread.CONTAINER, False, ("env", index, "value"))
