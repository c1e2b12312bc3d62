"""Start the command line from the folder of the action: an isolated Python (`-I`) puts no folder on its path."""

from __future__ import annotations

import sys
from pathlib import Path


def start() -> None:
    """Run the command line. The folder comes after the libraries, so that nothing in it hides one of them."""
    sys.path.append(str(Path(__file__).resolve().parents[2]))
    sys.argv[0] = "gpushare-webhook"
    from webhook.cli import main

    main()


start()
