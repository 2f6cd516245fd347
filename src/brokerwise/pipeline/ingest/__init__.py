"""From raw files to a workload."""
