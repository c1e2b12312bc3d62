"""Admission webhook and manifest check for pods that share NVIDIA GPUs through MPS."""

__version__ = "0.1.0"
