"""Other programs run the command line: pre-commit, GitHub's runner, kubectl's renderers."""
