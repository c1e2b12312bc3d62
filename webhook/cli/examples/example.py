"""An example: a manifest, and the same one corrected by its author or completed by the webhook."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Example:
    """A wrong manifest, with findings of one check only, and the right one, without findings.

    Of an injection: a pod, and the pod with the edits of this injection and of those that it depends on.

    All parts are YAML as an author writes it. `settings` and `facts` are the content of these files, empty where the
    defaults suffice. `about` says in a sentence what the example shows.
    """

    about: str
    wrong: str
    right: str
    settings: str = ""
    facts: str = ""
