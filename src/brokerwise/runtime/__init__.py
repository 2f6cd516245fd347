"""The live system: brokers, coordinator, client, and the fleet that they make."""
