"""Placement: whether a pod can reach an MPS node, from selectors, taints and known nodes."""
