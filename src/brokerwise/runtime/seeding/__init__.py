"""What a fleet starts from: a plan directory, or so many brokers."""
