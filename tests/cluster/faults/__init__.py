"""Faults that a test makes on a real cluster, with the cause or finding that the commands must name for each."""
