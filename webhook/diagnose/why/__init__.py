"""`why`: the causes for which a pod does not run, or runs without MPS, each with evidence and a remedy.

`gather` reads what the state of the pod makes necessary, into a `Case`. The modules of the groups decide on that alone.
"""
