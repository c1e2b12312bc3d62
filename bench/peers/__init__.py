"""Peers of the webhook in comparisons, each a separate program."""
