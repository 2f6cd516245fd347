"""Channel SQL: what is allowed, and how it runs for all subscriptions at once."""
