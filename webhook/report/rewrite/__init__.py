"""The text of a file with the edits of its objects: comments, quotes, indentation and line breaks stay.

`wanted` says what edits want of each value, `events` and `outline` find these values in the text, `changes` turns the
edits into changes of the text, `writing` writes new values in the style of the file, and `file` proves the result.
"""

from __future__ import annotations

from webhook.report.rewrite.file import Rewritten, Splice, rewrite

__all__ = ["Rewritten", "Splice", "rewrite"]
