"""What the server shows of itself: log, metrics and the event loop watchdog."""
