"""The benchmarks measure what they say: counts, latencies, ratios, and a page that follows from the results."""
