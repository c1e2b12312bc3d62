"""HTTP over TLS: connections from accept to close, with deadlines and limits."""
