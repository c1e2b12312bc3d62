"""What the command lines of containers launch, and how many GPUs each launch takes: pure parsing, nothing is run.

One module for each family of launchers. It names the project, file and version of its facts.
"""
