"""Tests that read facts from an API server. All but one share a control plane."""
