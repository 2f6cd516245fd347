"""Brokers chosen among feasible sets by a linear program: bounds, and better plans."""
