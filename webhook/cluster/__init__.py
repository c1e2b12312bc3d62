"""A live cluster: requests to its API server, and facts read and watched."""
