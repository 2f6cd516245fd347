"""What the data cluster shows of its state, to operators and to Prometheus: datasets,
channels, and the whole."""

from collections.abc import Iterable

from brokerwise.runtime.data_cluster.channels import state_of
from brokerwise.runtime.data_cluster.datasets import fed_counts, stored_dataset
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.data import (
    ChannelStatus,
    Column,
    ColumnInfo,
    DatasetStatus,
    DataStatus,
    RejectedRecord,
    Run,
    SegmentSetAside,
)

LAST_REJECTED = 20  # records of a dataset that are shown
LAST_RUNS = 20  # of a channel
LAST_SET_ASIDE = 100  # segments of a channel


def dataset_status(sql: Sql, name: str, *, details: bool = True) -> DatasetStatus:
    """The last rejected records, newest first, are `details`. Raises NotFoundError."""
    found = stored_dataset(sql, name)
    dataset = found.dataset
    rows, segments, size = sql.execute(
        "SELECT coalesce(sum(rows), 0), count(*), coalesce(sum(bytes), 0) "
        "FROM segments WHERE dataset = ?",
        (name,),
    ).fetchone()
    return DatasetStatus(
        dataset.name,
        dataset.kind,
        _typed(dataset.columns),
        dataset.key,
        found.created,
        rows,
        segments,
        size,
        *fed_counts(sql, name),
        _last_rejected(sql, name) if details else (),
    )


def channel_status(
    sql: Sql,
    name: str,
    *,
    columns: tuple[ColumnInfo, ...] = (),
    suspended: str = "",
    details: bool = True,
) -> ChannelStatus:
    """Its last runs and what it set aside, newest first, are `details`. `columns` are
    those of a result, unknown until the SQL has been checked since the start. Raises
    NotFoundError."""
    state = state_of(sql, name)
    channel = state.channel
    return ChannelStatus(
        name,
        channel.sql,
        _typed(channel.parameters),
        channel.period,
        state.datasets,
        state.created,
        columns,
        subscriptions=_number(
            sql, "SELECT count(*) FROM subscriptions WHERE channel = ?", name
        ),
        frontends=_number(
            sql,
            "SELECT count(*) FROM subscriptions s JOIN frontends f "
            "ON f.subscription = s.id WHERE s.channel = ?",
            name,
        ),
        runs=state.run,
        skipped=state.skipped,
        segment=state.segment,
        set_aside_count=_number(
            sql, "SELECT count(*) FROM set_aside WHERE channel = ?", name
        ),
        suspended=suspended,
        set_aside=_set_aside(sql, name) if details else (),
        last_runs=_last_runs(sql, name) if details else (),
    )


def data_status(
    sql: Sql, *, instance: str, started: float, spark: str, master: str, cpu: float
) -> DataStatus:
    def count(what: str) -> int:
        return _number(sql, _COUNTED[what][1])

    return DataStatus(
        instance=instance,
        started=started,
        spark=spark,
        master=master,
        spark_cpu_seconds=cpu,
        datasets=count("datasets"),
        channels=count("channels"),
        subscriptions=count("subscriptions"),
        frontends=count("frontends"),
        online=count("frontends_online"),
        skipped=count("beats_skipped"),
        set_aside=count("segments_set_aside"),
    )


def metrics(sql: Sql, *, spark_up: bool, cpu: float) -> str:
    """In Prometheus's text format."""
    found: list[tuple[str, str, str, float]] = [
        (name, "gauge", text, _number(sql, query))
        for name, (text, query) in _COUNTED.items()
    ]
    found.append(("spark_up", "gauge", "Whether channels can run.", int(spark_up)))
    text = "CPU seconds of the process and its JVM."
    found.append(("cpu_seconds_total", "counter", text, cpu))
    return "\n".join(line for each in found for line in _family(*each)) + "\n"


_COUNTED = {
    "datasets": ("Datasets that there are.", "SELECT count(*) FROM datasets"),
    "channels": ("Channels that there are.", "SELECT count(*) FROM channels"),
    "subscriptions": (
        "Channels with different parameters that users subscribe to.",
        "SELECT count(*) FROM subscriptions",
    ),
    "frontends": ("Subscriptions of users.", "SELECT count(*) FROM frontends"),
    "frontends_online": (
        "Subscriptions of users whom a broker serves.",
        "SELECT count(*) FROM frontends WHERE broker != ''",
    ),
    "results_behind": (
        "Results that users whom a broker serves have not had.",
        "SELECT coalesce(sum(s.last - f.seq), 0) FROM frontends f "
        "JOIN subscriptions s ON s.id = f.subscription WHERE f.broker != ''",
    ),
    "segments": ("Segments that are kept.", "SELECT count(*) FROM segments"),
    "segment_bytes": (
        "Bytes of segments that are kept.",
        "SELECT coalesce(sum(bytes), 0) FROM segments",
    ),
    "result_bytes": (
        "Bytes of results that are kept.",
        "SELECT coalesce(sum(bytes), 0) FROM runs",
    ),
    "beats_skipped": (
        "Beats that channels have skipped.",
        "SELECT coalesce(sum(skipped), 0) FROM channels",
    ),
    "segments_set_aside": (
        "Segments that channels cannot process.",
        "SELECT count(*) FROM set_aside",
    ),
}


def _last_rejected(sql: Sql, name: str) -> tuple[RejectedRecord, ...]:
    rows = sql.execute(
        "SELECT batch, line, text, reason, at FROM rejected WHERE dataset = ? "
        "ORDER BY id DESC LIMIT ?",
        (name, LAST_REJECTED),
    )
    return tuple(RejectedRecord(*row) for row in rows)


def _set_aside(sql: Sql, name: str) -> tuple[SegmentSetAside, ...]:
    """`dataset` is empty once the records are not kept any more."""
    rows = sql.execute(
        "SELECT a.segment, coalesce(s.dataset, ''), a.reason, a.at FROM set_aside a "
        "LEFT JOIN segments s ON s.number = a.segment WHERE a.channel = ? "
        "ORDER BY a.segment DESC LIMIT ?",
        (name, LAST_SET_ASIDE),
    )
    return tuple(SegmentSetAside(*row) for row in rows)


def _last_runs(sql: Sql, name: str) -> tuple[Run, ...]:
    rows = sql.execute(
        "SELECT run, started, committed - started, first_segment, last_segment, "
        "subscriptions, rows, bytes FROM runs WHERE channel = ? "
        "ORDER BY run DESC LIMIT ?",
        (name, LAST_RUNS),
    )
    return tuple(Run(*row) for row in rows)


def _typed(columns: Iterable[Column]) -> tuple[ColumnInfo, ...]:
    return tuple(ColumnInfo(column.name, column.type) for column in columns)


def _number(sql: Sql, query: str, *values: str) -> int:
    (number,) = sql.execute(query, values).fetchone()
    return int(number)


def _family(name: str, kind: str, text: str, value: float) -> list[str]:
    full = f"brokerwise_data_{name}"
    return [f"# HELP {full} {text}", f"# TYPE {full} {kind}", f"{full} {value}"]
