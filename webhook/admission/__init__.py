"""AdmissionReview v1 in, AdmissionResponse out."""

from __future__ import annotations

from webhook.admission.errors import BadReviewError, TooComplexError
from webhook.admission.hook import Hook
from webhook.admission.respond import Outcome, line, respond

__all__ = ["BadReviewError", "Hook", "Outcome", "TooComplexError", "line", "respond"]
