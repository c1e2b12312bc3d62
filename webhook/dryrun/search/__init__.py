"""The search of objects on the command line for pods and amounts of GPUs that no path of a kind leads to."""
