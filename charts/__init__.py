"""The Helm chart, and what its generated files are made from."""
