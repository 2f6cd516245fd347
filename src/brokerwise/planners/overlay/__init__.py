"""Users and brokers wired at least cost."""
