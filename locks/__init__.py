"""Locks: libraries in exact versions, with the digests of the wheels that pip may install."""
