"""The data cluster: datasets, feeds and channels, on Spark."""
