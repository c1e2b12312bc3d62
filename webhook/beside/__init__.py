"""What a task that runs beside the server needs, whatever it does: patience, and a way to tell of trouble."""
