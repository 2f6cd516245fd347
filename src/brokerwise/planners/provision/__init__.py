"""The cheapest fleet that satisfies every subscriber."""
