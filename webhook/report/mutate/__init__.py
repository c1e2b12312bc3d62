"""The formats of `mutate`: one module each, and the registry that `-o` chooses from."""
