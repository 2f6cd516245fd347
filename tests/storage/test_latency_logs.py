"""Raw logs: found, written whole, and read back, or refused by name."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from brokerwise.model.errors import InputError
from brokerwise.storage.latency_data import LOGS
from brokerwise.storage.latency_logs import (
    LogFacts,
    LoggedTopic,
    all_facts,
    log_name,
    logged,
    read_facts,
    write_log,
)


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
