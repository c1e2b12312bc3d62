"""The contract between the signer of a certificate and the server that presents it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias


class InstallError(Exception):
    """A certificate could not be installed, and the previous one stays. The message says why; a retry may succeed."""


InstallCertificate: TypeAlias = Callable[[bytes, bytes], None]
"""Makes the server present a certificate with its key, both PEM, in each new handshake.

Raises InstallError, whatever the reason: damaged bytes, no memory, no file descriptor.
"""
