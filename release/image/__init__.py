"""The container image: the scripts that fill it, and the tools that lock and list its libraries."""
