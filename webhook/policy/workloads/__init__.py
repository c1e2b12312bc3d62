"""Workloads: which kinds hold pods, and where."""
