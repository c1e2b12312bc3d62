"""Statements about other projects that code and pages rely on, each with the released source that shows it."""
