"""Directories of latency data."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from brokerwise.model.errors import DigestMismatchError, InputError
from brokerwise.model.latency import LatencyRows
from brokerwise.storage.latency_data import (
    HEADER,
    LOGS,
    LatencyHeader,
    LogFacts,
    LoggedTopic,
    all_facts,
    log_name,
    logged,
    read_facts,
    read_latency_data,
    rows_table,
    stage_latency_data,
    write_log,
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


def facts(number: int) -> LogFacts:
    topics = (LoggedTopic(2.5, 3, 4.0, 80), LoggedTopic(10.0, 1, 0.5, 10))
    return LogFacts(*(number, topics, 21.5, 0.7, 0.01, 0.04, 0, 0.6, (0, 2), 0, 1.7e9))


def empty() -> pa.Table:
    return LOGS.empty_table()


def test_a_log_says_how_its_configuration_was(tmp_path: Path) -> None:
    for number in (100_000, 3):
        write_log(tmp_path / log_name(number), empty(), facts(number))
    (tmp_path / "configuration-7.parquet").write_bytes(b"of somebody else")
    assert list(logged(tmp_path)) == [3, 100_000]
    assert list(all_facts(tmp_path)) == [facts(3), facts(100_000)]
    assert facts(3).topics[1].rate_per_second == 0.5
    assert facts(3).is_censored and not facts(3).is_late


def test_a_log_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    wrong = pa.table({"topic": [1]})
    with pytest.raises(ValueError, match="schema"):
        write_log(tmp_path / log_name(1), wrong, facts(1))
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_no_log_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / log_name(4)
    pq.write_table(empty(), path)
    with pytest.raises(InputError, match=r"00004\.parquet does not say which"):
        read_facts(path)
    pq.write_table(pa.table({"topic": [1]}), path)
    with pytest.raises(InputError, match="no column 'configuration'"):
        read_facts(path)
    path.write_bytes(b"nothing like it")
    with pytest.raises(InputError, match="cannot be read"):
        read_facts(path)


def test_a_folder_that_is_not_there_has_no_logs(tmp_path: Path) -> None:
    assert logged(tmp_path / "nothing") == {}
