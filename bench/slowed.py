"""`python -m bench.slowed`: the command line of the webhook for callgrind, which makes the server slower.

This program multiplies the limits for reviews and the log by the same factor. Otherwise each review would use up its
stretch, and each line would wake the writer.
"""

from __future__ import annotations

from webhook.cli import main
from webhook.server import log
from webhook.server.http import load

_FACTOR = 20
"""A mutated review of 2 kB takes 0.37 ms over one connection, and 7.6 ms under callgrind."""

if __name__ == "__main__":
    load.SLICE *= _FACTOR
    load.STRETCH *= _FACTOR
    log.GATHER *= _FACTOR
    main()
