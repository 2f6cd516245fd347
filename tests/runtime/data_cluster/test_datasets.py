"""Datasets are made, found, described and dropped."""

from collections.abc import Iterator

import pytest

from brokerwise.runtime.data_cluster.datasets import (
    all_datasets,
    answered_before,
    count_fed,
    create_dataset,
    drop_dataset,
    find_dataset,
    is_current,
    keep_aside,
    note_answer,
    stored_dataset,
)
from brokerwise.runtime.data_cluster.records import Reject, spark_schema
from brokerwise.runtime.data_cluster.segments import Segment, add_segment
from brokerwise.runtime.data_cluster.status import dataset_status
from brokerwise.runtime.data_cluster.store import new_state
from brokerwise.runtime.net.errors import ConflictError, NotFoundError
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.data import (
    Column,
    ColumnType,
    Dataset,
    DatasetKind,
    FeedAnswer,
)

USERS = Dataset(
    "Users",
    DatasetKind.KEYED,
    tuple(Column(type_.value, type_) for type_ in ColumnType),
    "string",
)
EVENTS = Dataset("events", DatasetKind.APPEND, (Column("n", ColumnType.LONG),))


@pytest.fixture
def sql() -> Iterator[Sql]:
    sql = new_state()
    yield sql
    sql.close()


def test_a_dataset_is_found_as_it_was_made(sql: Sql) -> None:
    create_dataset(sql, USERS, 5.0)
    create_dataset(sql, EVENTS, 6.0)
    assert find_dataset(sql, "Users") == USERS
    assert all_datasets(sql) == {"Users": USERS, "events": EVENTS}
    with pytest.raises(NotFoundError, match="no dataset 'users'"):
        find_dataset(sql, "users")


def test_a_name_is_taken_in_whatever_case(sql: Sql) -> None:
    create_dataset(sql, USERS, 5.0)
    other = Dataset("users", DatasetKind.STATIC, EVENTS.columns)
    with pytest.raises(ConflictError, match="a dataset 'Users' already"):
        create_dataset(sql, other, 6.0)


def test_a_description_has_what_is_kept_what_was_fed_and_the_last_rejected(
    sql: Sql,
) -> None:
    create_dataset(sql, EVENTS, 5.0)
    shown = dataset_status(sql, "events")
    assert (shown.rows, shown.segments, shown.fed, shown.rejected) == (0, 0, 0, 0)
    assert shown.last_fed is None
    add_segment(sql, Segment(3, "events", "a.parquet", 10, 100, 6.0))
    add_segment(sql, Segment(4, "events", "b.parquet", 5, 50, 7.0))
    count_fed(sql, "events", 900, 20, 6.0)
    count_fed(sql, "events", 100, 10, 7.5)
    rejects = [Reject(line, f"text {line}", "reason") for line in range(1, 31)]
    keep_aside(sql, "events", "b", rejects, 8.0)
    shown = dataset_status(sql, "events")
    assert (shown.rows, shown.segments, shown.bytes) == (15, 2, 150)
    assert (shown.fed, shown.rejected, shown.last_fed) == (1_000, 30, 7.5)
    assert [each.line for each in shown.last_rejected] == list(range(30, 10, -1))


def test_a_dropped_dataset_takes_everything_that_was_fed_with_it(sql: Sql) -> None:
    create_dataset(sql, EVENTS, 5.0)
    create_dataset(sql, USERS, 5.0)
    for number, name in enumerate(["events", "Users", "events"], 1):
        add_segment(sql, Segment(number, name, f"{number}.parquet", 1, 1, 6.0))
        count_fed(sql, name, 1, 1, 6.0)
    note_answer(sql, "events", "b", FeedAnswer(1, 0), 6.0)
    keep_aside(sql, "events", "b", [Reject(1, "", "")], 6.0)
    before = stored_dataset(sql, "events")
    assert drop_dataset(sql, "events") == ("1.parquet", "3.parquet")
    assert not is_current(sql, before)
    create_dataset(sql, EVENTS, 7.0)
    assert not is_current(sql, before)
    shown = dataset_status(sql, "events")
    assert (shown.rows, shown.segments, shown.fed, shown.rejected) == (0, 0, 0, 0)
    assert (shown.last_fed, shown.last_rejected) == (None, ())
    assert answered_before(sql, "events", "b") is None
    assert dataset_status(sql, "Users").rows == dataset_status(sql, "Users").fed == 1


def test_a_dataset_that_channels_read_is_not_dropped(sql: Sql) -> None:
    create_dataset(sql, EVENTS, 5.0)
    sql.execute("INSERT INTO channel_datasets VALUES ('near', 'events')")
    with pytest.raises(ConflictError, match="read by 'near': drop that channel first"):
        drop_dataset(sql, "events")
    sql.execute("INSERT INTO channel_datasets VALUES ('far', 'events')")
    with pytest.raises(ConflictError, match="read by 'far', 'near': drop those"):
        drop_dataset(sql, "events")
    assert find_dataset(sql, "events") == EVENTS
    with pytest.raises(NotFoundError):
        drop_dataset(sql, "nothing")


def test_spark_is_given_quoted_names_and_its_own_types() -> None:
    assert spark_schema(USERS) == (
        "`string` STRING, `long` BIGINT, `double` DOUBLE, `boolean` BOOLEAN, "
        "`timestamp` TIMESTAMP"
    )
