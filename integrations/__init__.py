"""The command line in other programs: the GitHub action, and the lock of what it installs."""
