"""Several lots of latency rows as one."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from brokerwise.model.latency import LatencyRows


def join(parts: Sequence[LatencyRows]) -> LatencyRows:
    """All rows, one part after the other; configurations are numbered anew, from 0."""
    numbers, count = [], 0
    for part in parts:
        of_part = part.configuration
        starts = np.ones(len(of_part), np.bool_)
        starts[1:] = of_part[1:] != of_part[:-1]
        numbers.append(count - 1 + np.cumsum(starts))
        count += int(starts.sum())
    columns: dict[str, Any] = {
        field.name: _concatenated([getattr(part, field.name) for part in parts])
        for field in fields(LatencyRows)
    }
    return LatencyRows(**columns | {"configuration": _concatenated(numbers)})


def _concatenated(columns: Sequence[Any]) -> Any:
    return np.concatenate(columns) if columns else np.empty(0, np.int64)
