"""What is right for a GPU pod: pure functions of a case. Standard library only, no IO, no clock, no async."""
