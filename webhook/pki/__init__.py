"""Certificates: authorities and the leaves that they sign, and a keeper that looks after those of an installation."""

from __future__ import annotations

from webhook.pki.authority import Authority, Leaf
from webhook.pki.installation import Installation, Lifetimes
from webhook.pki.keeper import Dependencies, Keeper, Observer
from webhook.pki.objects import Api

__all__ = ["Api", "Authority", "Dependencies", "Installation", "Keeper", "Leaf", "Lifetimes", "Observer"]
