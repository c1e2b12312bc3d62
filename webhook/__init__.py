"""Admission webhook and manifest check for pods that share NVIDIA GPUs through MPS."""

from __future__ import annotations

__version__ = "0.1.0-rc.1"
