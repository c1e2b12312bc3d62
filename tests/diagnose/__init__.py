"""The questions about a live cluster: pure functions over objects."""
