"""Provisioning of workload directories, in this process or on Spark."""
