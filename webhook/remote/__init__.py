"""A running webhook, asked by real reviews, and its answers beside the findings of the local run."""

from __future__ import annotations

from webhook.remote.address import Address, Trust, address
from webhook.remote.answer import Answer
from webhook.remote.comparison import Compared, compare
from webhook.remote.errors import ServerError, UnansweredError
from webhook.remote.review import NewObject
from webhook.remote.webhook import Webhook

__all__ = [
    "Address",
    "Answer",
    "Compared",
    "NewObject",
    "ServerError",
    "Trust",
    "UnansweredError",
    "Webhook",
    "address",
    "compare",
]
