"""`doctor`: faults of the node side and of the installation, each with its cause, what shows it, and a remedy."""
