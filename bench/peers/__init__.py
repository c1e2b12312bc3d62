"""Peers: what the webhook is compared with, each a program of its own."""
