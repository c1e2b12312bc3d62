"""The launches of the command lines of containers, and the GPUs that each takes: pure parsing, nothing is run.

Each launcher names the project, file and version of its facts.
"""
