"""Start the command line of an archive with the libraries beside this file."""

from __future__ import annotations

import os
import sys


def start() -> None:
    """Run the command line as the kubectl plugin."""
    # First, so that a package of this Python with the same name does not come before.
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "lib"))  # noqa: PTH118, PTH120 - imports nothing more
    sys.argv[0] = "kubectl-gpushare"
    from webhook.cli import main

    main()


start()
