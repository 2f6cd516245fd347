"""What latencies are measured on."""

import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from brokerwise.model.errors import InputError
from brokerwise.runtime.measuring.running import Cores


def machine() -> dict[str, Any]:
    """What the machine calls itself."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count() or 0,
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def cores_for(broker: Sequence[int]) -> Cores:
    """The broker's cores, and all others that we may use. Raises InputError if one of
    them is not there, or none is left to send and receive from."""
    ours = os.sched_getaffinity(0)
    wrong = [core for core in broker if core not in ours]
    if wrong or not broker:
        raise InputError(
            f"--broker-cores: found {wrong[0] if wrong else 'none'}, expected some of "
            f"{_listed(ours)}"
        )
    others = ours - set(broker)
    if not others:
        raise InputError(
            f"--broker-cores: found {_listed(set(broker))}, which leaves none to send "
            "and receive from",
            hint="Latencies need a machine with at least 2 cores.",
        )
    return Cores(tuple(sorted(set(broker))), tuple(sorted(others)))


def _listed(cores: set[int]) -> str:
    return ",".join(map(str, sorted(cores)))


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if "model name" in line)
    return next(names, platform.processor())
