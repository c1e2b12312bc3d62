"""Tests that need a control plane without a node. They share one."""
