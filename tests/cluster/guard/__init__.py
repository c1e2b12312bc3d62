"""The guard in a real API server."""
