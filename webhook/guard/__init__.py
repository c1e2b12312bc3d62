"""The guard: GPS001 and GPS002 of new pods in the API server, for as long as no replica of the webhook answers."""
