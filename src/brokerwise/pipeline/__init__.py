"""The data-sized work, on Spark."""
