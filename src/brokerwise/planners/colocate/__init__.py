"""Co-location: which topics share a broker, so that as few brokers as possible are
used and each topic stays below its latency target."""
