"""The server under load that it has to bear, on a machine that does nothing else meanwhile: `make test-load`."""
