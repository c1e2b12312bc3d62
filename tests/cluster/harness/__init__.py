"""A real Kubernetes cluster for tests: started as a context manager, stopped without a trace."""
