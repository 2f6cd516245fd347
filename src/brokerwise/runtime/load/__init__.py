"""The load generator: replays a plan, measures latencies, on real brokers."""
