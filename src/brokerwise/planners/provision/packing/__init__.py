"""Stage 2: on which brokers the selected pairs go."""
