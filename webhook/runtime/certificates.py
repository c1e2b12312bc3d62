"""How a certificate is put in force: the contract between its signer and the server that presents it."""

from __future__ import annotations

from typing import Protocol


class NotPresentedError(Exception):
    """A certificate is not in force, and the one before it still is. The message says why; a retry may succeed."""


class Present(Protocol):
    """Puts a certificate in force."""

    def __call__(self, certificate: bytes, key: bytes) -> None:
        """Present this certificate with its key, both PEM, in each new handshake.

        Raises NotPresentedError, whatever the reason: damaged bytes, no memory, no file descriptor.
        """
