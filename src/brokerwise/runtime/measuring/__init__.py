"""Latencies of topics that share a broker, measured on real processes."""
