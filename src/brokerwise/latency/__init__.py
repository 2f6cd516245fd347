"""Latencies of topics that share a broker: drawn, simulated, learned."""
