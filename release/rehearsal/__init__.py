"""The commands of docs/how-to/release.md, run against a registry and a cluster on this machine."""
