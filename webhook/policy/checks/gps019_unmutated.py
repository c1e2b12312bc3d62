"""A pod reached the validating hook without the edits that the mutating one makes.

Reads: the pod as `/validate` gets it, against what `/mutate` would add.
Why: the mutating hook was down, too slow or not called, and its failure policy let the pod through. It may hang, stay
Pending or run without MPS.
Remedy: create the pod again once the webhook is well; the metric `unmutated` counts such pods.
"""

from __future__ import annotations

from webhook.policy.checks.check import Check, Claims, Scope
from webhook.policy.context import PodContext
from webhook.policy.verdict import MOST_EDITS, Claim, Severity


def run(context: PodContext) -> Claims:
    """One claim, when edits are missing."""
    if not context.edits:
        return ()
    missing = str(len(context.edits)) if len(context.edits) <= MOST_EDITS else f"more than {MOST_EDITS}"
    said = f"{missing} edits of the mutating webhook are missing: it was not called or did not answer"
    return (Claim(context.pod.spec_path, said, "create the pod again once the webhook is well"),)


CHECK = Check("GPS019", Severity.WARN, Scope.ARRIVED, run, __doc__)
