"""Raw logs become p90 rows on Spark: the same that numpy finds."""

from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from brokerwise.model.errors import InputError
from brokerwise.pipeline.latency_logs import reduce_logs
from brokerwise.runtime.load.series import rows_of_logs
from brokerwise.storage.latency_data import (
    LOGS,
    ROWS,
    LogFacts,
    LoggedTopic,
    log_name,
    logged,
    write_log,
)
from brokerwise.storage.tables import table_of


def write(folder: Path, number: int, publishers: list[int], messages: int) -> None:
    """A log in no particular order, latencies all different in size."""
    random = np.random.default_rng(number)
    numbers = np.concatenate(
        [
            np.stack(
                [np.full(n * messages, t), *np.indices((n, messages)).reshape(2, -1)]
            )
            for t, n in enumerate(publishers)
        ],
        axis=1,
    )
    topic, publisher, seq = numbers[:, random.permutation(numbers.shape[1])]
    latency = np.exp(random.normal(15, 3, len(topic))).astype(np.int64)
    columns = [np.full(len(topic), number), topic, publisher, seq + 1, seq, latency]
    topics = tuple(
        LoggedTopic(2.5 * (t + 1), n, 4.0, messages) for t, n in enumerate(publishers)
    )
    zeros = tuple(0 for _ in topics)
    share = (number + 1) / 100
    facts = LogFacts(*(number, topics, 20.0, share, 0.0, 0.1, 0, 0.0, zeros, 0, 0.0))
    write_log(folder / log_name(number), table_of(columns, LOGS), facts)


def test_rows_are_those_that_numpy_finds_to_the_last_bit(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = tmp_path / "odd [name]*"
    folder.mkdir()
    for number, publishers in enumerate([[3], [1, 7], [2, 1, 1, 5]]):
        write(folder, number, publishers, messages=(80, 11, 10)[number])
    found = reduce_logs(spark, folder)
    expected = rows_of_logs(logged(folder).values())
    assert found.configuration.tolist() == [0, 1, 1, 2, 2, 2, 2]
    assert found.messages.tolist() == [192, 9, 63, 16, 8, 8, 40]
    for name in ROWS.names:
        assert getattr(found, name).tolist() == getattr(expected, name).tolist()


def test_a_folder_without_logs_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no complete log"):
        reduce_logs(spark, tmp_path)
