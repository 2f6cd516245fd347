"""Rows of latency data, and the topics that they are about."""

import numpy as np
import pytest

from brokerwise.model.colocation import TopicTable
from brokerwise.model.errors import InputError
from brokerwise.model.latency import LatencyRows
from brokerwise.model.names import Names


def rows(configuration: list[int], **columns: list[float]) -> LatencyRows:
    ones = [1.0] * len(configuration)
    values = {
        "processing_ms": ones,
        "rate_per_second": ones,
        "mean_ms": ones,
        "p90_ms": ones,
        "cpu_share": ones,
        **columns,
    }
    return LatencyRows(
        configuration=configuration,  # type: ignore[arg-type]
        messages=np.ones(len(configuration), np.int64),
        **values,  # type: ignore[arg-type]
    )


def test_sets_are_grouped_by_how_many_topics_share_a_broker() -> None:
    found = {k: at.tolist() for k, at in rows([7, 7, 3, 9, 9, 4]).sets()}
    assert found == {1: [[2], [5]], 2: [[0, 1], [3, 4]]}


def test_no_rows_have_no_sets() -> None:
    assert list(rows([]).sets()) == []
    assert rows([]).sharing().tolist() == []


def test_configurations_are_taken_whole() -> None:
    some = rows([7, 7, 3], p90_ms=[1.0, 2.0, 3.0]).take(np.array([2, 0, 1]))
    assert some.configuration.tolist() == [3, 7, 7]
    assert some.p90_ms.tolist() == [3.0, 1.0, 2.0]


def test_a_configuration_with_others_in_between_is_refused() -> None:
    with pytest.raises(InputError, match="follow each other"):
        rows([7, 3, 7])


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), 0.0, -1.0])
def test_a_number_that_cannot_be_is_refused_by_row_and_column(wrong: float) -> None:
    with pytest.raises(InputError, match=r"p90_ms of row 2: found .*above 0"):
        rows([1, 2], p90_ms=[5.0, wrong])


def test_columns_of_other_lengths_are_refused() -> None:
    with pytest.raises(InputError, match="mean_ms: found 1 rows, expected 2"):
        rows([1, 2], mean_ms=[1.0])


def topics(**columns: object) -> TopicTable:
    values = {
        "names": Names.of(["a", "b"]),
        "processing_ms": [1.0, 2.0],
        "rate_per_second": [3, 4],
        "target_ms": [5.0, 6.0],
        **columns,
    }
    return TopicTable(**values)  # type: ignore[arg-type]


def test_topics_keep_their_order_and_become_floats() -> None:
    table = topics()
    assert len(table) == 2
    assert table.rate_per_second.tolist() == [3.0, 4.0]


def test_a_topic_with_a_value_that_cannot_be_is_named() -> None:
    with pytest.raises(InputError, match="rate_per_second of topic 'b': found -4"):
        topics(rate_per_second=[3, -4])


def test_a_topic_that_is_there_twice_is_named() -> None:
    with pytest.raises(InputError, match="topic 'a' is there twice"):
        topics(names=Names.of(["a", "a"]))


def test_as_many_values_as_topics_are_expected() -> None:
    with pytest.raises(InputError, match="target_ms: found 1 values, expected 2"):
        topics(target_ms=[1.0])


def test_text_is_no_number() -> None:
    with pytest.raises(InputError, match="processing_ms: found"):
        topics(processing_ms=["1", "2"])
