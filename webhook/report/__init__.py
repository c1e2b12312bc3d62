"""Results for people and machines: one model, and one module for each format."""
