"""Explanations of checks and injections: one text, written for the terminal and as Markdown for the reference."""
