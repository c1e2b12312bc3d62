"""The pod as the API server sends it: views, quantities, resource requests and variables."""
