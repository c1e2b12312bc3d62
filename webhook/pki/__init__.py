"""Certificates: an authority of the webhook's own, the certificates it signs, and their rotation."""

from __future__ import annotations

from webhook.pki.authority import Authority, ServingCertificate
from webhook.pki.installation import Installation, Lifetimes
from webhook.pki.keeper import Dependencies, Keeper

__all__ = ["Authority", "Dependencies", "Installation", "Keeper", "Lifetimes", "ServingCertificate"]
