"""Tests of the generators of pages, and of the pages of checks and injections."""
