"""One period of a plan, sent through the fleet that runs it and counted."""
