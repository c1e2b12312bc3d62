"""The text of a file with the edits of its objects: comments, quotes, indentation and line breaks stay.

`wanted` finds the values in the text that edits concern, `changes` turns the edits into changes of the text in the
style of the file, and `file` proves the result. `fixes` does the same for the fixes of findings.
"""

from __future__ import annotations

from webhook.report.rewrite.file import Failure, Splice, applied, rewrite

__all__ = ["Failure", "Splice", "applied", "rewrite"]
