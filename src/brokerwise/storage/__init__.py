"""Workload and plan directories through pyarrow; no JVM."""
