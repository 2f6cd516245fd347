"""Directories of latency data."""

from typing import Any

import numpy as np

from brokerwise.model.latency import LatencyRows
from brokerwise.storage.latency_data import HEADER, stage_latency_data
from brokerwise.storage.output import Output
from brokerwise.storage.place import Place


def write_data(
    rows: LatencyRows, path: str, source: str = "simulated", /, **settings: Any
) -> Place:
    output = Output.begin(Place(path), HEADER, force=True)
    made = {"cores": 1, "message_bytes": 4096, **settings}
    header = stage_latency_data(output, rows, source=source, settings=made)
    output.commit(header.as_json())
    return Place(path)


def first(rows: LatencyRows, counts: dict[int, int]) -> LatencyRows:
    """So many configurations of each number of topics."""
    chosen = [of[: counts.get(k, 0)].ravel() for k, of in rows.sets()]
    return rows.take(np.sort(np.concatenate(chosen)))
