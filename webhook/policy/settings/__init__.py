"""The settings: frozen dataclasses that carry defaults, bounds and descriptions."""
