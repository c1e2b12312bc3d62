"""What long-running parts of the process share: retry, failure reports, the supervisor."""
