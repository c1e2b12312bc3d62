"""Benchmarks: one command measures every claim of speed and compares it with peers."""
