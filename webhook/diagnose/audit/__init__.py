"""`audit`: every live workload and pod, checked as the validating hook would check its creation."""
