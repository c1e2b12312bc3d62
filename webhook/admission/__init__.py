"""AdmissionReview v1 in, AdmissionResponse out."""

from __future__ import annotations

from webhook.admission.hook import Hook
from webhook.admission.respond import Outcome, respond
from webhook.admission.review import BadReviewError

__all__ = ["BadReviewError", "Hook", "Outcome", "respond"]
