"""Planners: a problem in, a plan out, without files, clocks or Spark."""
