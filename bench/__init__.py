"""Benchmarks: every claim of speed, measured by one command beside its peers."""
