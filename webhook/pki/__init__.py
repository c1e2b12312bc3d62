"""Certificates: an authority of the webhook's own, the certificates it signs, and their rotation."""

from __future__ import annotations

from webhook.pki.authorities import Authority, ServingCertificate
from webhook.pki.keeper import Dependencies, Keeper
from webhook.pki.objects import Installation
from webhook.pki.rotation import Lifetimes

__all__ = ["Authority", "Dependencies", "Installation", "Keeper", "Lifetimes", "ServingCertificate"]
