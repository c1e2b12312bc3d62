"""Settings and facts files: validated, and loaded into the frozen dataclasses of the policy.

The way of a field: its dataclass → `members`, of which the reference pages are made → `schema` (the types of pydantic,
and the JSON Schema) → `load`, which validates. Nothing else imports pydantic.
"""
