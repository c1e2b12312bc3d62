"""The remedies that several tests expect word by word."""

ASK_FOR_ONE = (
    "ask for 1, or, if the cluster has whole cards, require them by node affinity: "
    'nvidia.com/gpu.sharing-strategy NotIn ["mps", "time-slicing"] and nvidia.com/mps.capable NotIn ["true"]'
)
