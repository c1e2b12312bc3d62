"""Tests of the questions about a live cluster."""
