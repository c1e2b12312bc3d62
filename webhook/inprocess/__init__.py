"""The policy in the API server itself: expressions in CEL, and the policies for settings made from them.

The expressions are fixed text. What depends on settings is data: a few small literals at the start of each policy.
"""
