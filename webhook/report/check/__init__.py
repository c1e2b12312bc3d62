"""The formats of `check`: one module each, and the registry that `-o` chooses from."""
