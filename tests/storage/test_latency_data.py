"""Directories of latency data."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from brokerwise.model.errors import DigestMismatchError, InputError
from brokerwise.model.latency import LatencyRows
from brokerwise.storage.latency_data import (
    HEADER,
    LatencyHeader,
    read_latency_data,
    rows_table,
    stage_latency_data,
)
from brokerwise.storage.output import Output
from brokerwise.storage.place import Place

ROWS = LatencyRows(
    configuration=np.array([0, 0, 1]),
    processing_ms=np.array([2.5, 5.0, 10.0]),
    rate_per_second=np.array([4.0, 8.0, 12.0]),
    messages=np.array([64, 128, 192]),
    mean_ms=np.array([3.0, 6.0, 11.0]),
    p90_ms=np.array([4.0, 8.0, 15.0]),
    cpu_share=np.array([0.1, 0.1, 0.2]),
)


def written(directory: Path) -> LatencyHeader:
    output = Output.begin(Place(str(directory)), HEADER, force=False)
    header = stage_latency_data(
        output, ROWS, source="simulated", settings={"cores": 1}, seconds=2.5
    )
    output.commit(header.as_json())
    return header


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    header = written(tmp_path / "data")
    data = read_latency_data(Place(str(tmp_path / "data")))
    assert data.header == header
    assert header.configurations == {"1": 1, "2": 1}
    assert rows_table(data.rows).equals(rows_table(ROWS))


def test_rows_that_were_changed_are_refused(tmp_path: Path) -> None:
    header = written(tmp_path / "data")
    file = tmp_path / "data" / header.tables["rows"]
    pq.write_table(rows_table(ROWS.take(np.array([0, 1]))), file)
    with pytest.raises(DigestMismatchError, match=r"rows\.parquet"):
        read_latency_data(Place(str(tmp_path / "data")))


def test_a_header_without_its_rows_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "data")
    file = tmp_path / "data" / HEADER
    content = json.loads(file.read_text())
    del content["tables"]["rows"]
    file.write_text(json.dumps(content))
    with pytest.raises(InputError, match="has no 'rows'"):
        read_latency_data(Place(str(tmp_path / "data")))
