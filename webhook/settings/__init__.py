"""Settings and facts files: validated, and loaded into the frozen dataclasses of the policy.

The way of a field: its dataclass → `schema_tree` → `validation` (pydantic), `schema` and `reference`. `configuration`,
`schema_tree` and `process` need the standard library only; `load` and `schema` import pydantic.
"""
