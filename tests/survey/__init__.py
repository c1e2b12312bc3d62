"""The survey of manifests: what it counts, and what check leaves out in silence."""
