"""Run the command line as `python -m webhook`."""

from __future__ import annotations

from webhook.cli import main

main()
