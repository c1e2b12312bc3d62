"""A run of `check` or `mutate` over inputs, without the options of a command: inputs, workers, results."""
