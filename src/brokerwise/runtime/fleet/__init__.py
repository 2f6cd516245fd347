"""A whole fleet on one machine: its processes, its state directory, its commands."""
