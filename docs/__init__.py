"""Generators of reference pages."""
