"""Compiled loops: pure functions on arrays, for planners and Spark tasks alike."""
