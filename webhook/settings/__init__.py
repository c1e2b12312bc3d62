"""Settings and facts files: validated, and loaded into the frozen dataclasses of the policy.

The way of a field: its dataclass → `schema_tree` → `validation` (pydantic), `schema` (JSON Schema), reference pages.
Only `validation` imports pydantic, and `load` imports `validation`.
"""
