"""Workloads as directories."""

from brokerwise.model.workload import Workload
from brokerwise.storage.place import Place
from brokerwise.storage.workload import write_workload


def saved(workload: Workload, name: str = "w") -> str:
    """Write a workload into the working directory; returns its name there."""
    write_workload(workload, Place(name))
    return name
