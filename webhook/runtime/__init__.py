"""What long-running parts of the process share: retry and failure reports."""
