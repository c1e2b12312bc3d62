"""The contract between the signer of a certificate and the server that presents it."""

from __future__ import annotations

from typing import Protocol


class InstallError(Exception):
    """A certificate could not be installed, and the previous one stays. The message says why; a retry may succeed."""


class InstallCertificate(Protocol):
    """Makes the server present a certificate."""

    def __call__(self, certificate: bytes, key: bytes) -> None:
        """Present this certificate with its key, both PEM, in each new handshake.

        Raises InstallError, whatever the reason: damaged bytes, no memory, no file descriptor.
        """
