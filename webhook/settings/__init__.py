"""The edge of the settings: files in, frozen dataclasses out.

`configuration` and `process` need the standard library only; `reading` and `schema` load pydantic.
"""
