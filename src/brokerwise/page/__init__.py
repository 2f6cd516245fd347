"""The page: what a browser loads to watch a fleet or to look at a plan."""
