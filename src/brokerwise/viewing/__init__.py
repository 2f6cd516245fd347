"""A stored plan as a page: what it says, where things are, and why."""
