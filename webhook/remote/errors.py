"""Why an object got no answer from a running webhook."""

from __future__ import annotations


class UnansweredError(Exception):
    """The server answered this review with an error, or in a form that cannot be read; others may fare better."""


class ServerError(Exception):
    """The server cannot be reached, or is no webhook: no other review would get an answer either."""
