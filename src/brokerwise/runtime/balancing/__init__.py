"""When a running fleet is rebalanced: events in, commands out."""
