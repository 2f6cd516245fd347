"""The most that a fixed fleet can deliver."""
