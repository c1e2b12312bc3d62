"""The policies in a real API server, beside the webhook. The tests share one control plane."""
