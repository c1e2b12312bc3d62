"""The benchmarks measure what they claim: counts, latencies, ratios, and a page generated from the results."""
