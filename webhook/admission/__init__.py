"""AdmissionReview v1 in, AdmissionResponse out."""

from __future__ import annotations

from webhook.admission.respond import Outcome, respond
from webhook.admission.review import BadReviewError, Hook, TooComplexError

__all__ = ["BadReviewError", "Hook", "Outcome", "TooComplexError", "respond"]
