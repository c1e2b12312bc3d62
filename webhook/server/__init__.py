"""The webhook as a server: listeners, health, metrics and log."""
