"""An example: a manifest that a check reports, and the same one put right."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Example:
    """A wrong manifest, with findings of one check only, and the right one, without findings.

    All parts are YAML as an author writes it. `settings` and `facts` are the content of these files, empty where the
    defaults suffice. `about` says in a sentence what the example shows.
    """

    about: str
    wrong: str
    right: str
    settings: str = ""
    facts: str = ""
