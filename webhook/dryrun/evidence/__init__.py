"""What the inputs of a run show of the cluster that they are for."""
