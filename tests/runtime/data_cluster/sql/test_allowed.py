"""What a channel gives to each of its subscriptions, all in one query, is what the
query gives with that subscription's values written into it, in another database."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from tests.runtime.data_cluster.sql.city import DATASETS, PARAMETERS, channel

from brokerwise.runtime.data_cluster.records import arrow_schema, arrow_type
from brokerwise.runtime.data_cluster.sql.check import CheckedQuery, check_query
from brokerwise.runtime.data_cluster.sql.splice import column_of, query_session
from brokerwise.runtime.protocol.data import ColumnInfo, Dataset


def _at(minute: int) -> datetime:
    return datetime(2024, 1, 1, 0, minute, tzinfo=UTC)


ROWS: dict[str, list[tuple[Any, ...]]] = {
    "reports": [
        ("r1", "fire", 3, 0.0, 1.0, _at(1), True),
        ("r2", "fire", 1, 2.0, 2.0, _at(2), False),
        ("r3", "flood", 2, 2.0, 5.0, _at(3), True),
        ("r4", "flood", None, 4.0, 0.0, _at(4), True),
        ("r5", None, 3, 4.0, 4.0, _at(5), False),
        ("r6", "quake", 1, 9.0, 9.0, _at(6), True),
        ("r7", "fire", 2, 4.0, 3.0, None, None),
    ],
    "shelters": [
        ("s1", 0.0, 0.0, 10),
        ("s2", 2.0, 3.0, 2),
        ("s3", 4.0, 4.0, 5),
        ("it's", 7.0, 7.0, 1),
    ],
    "users": [("ann", 1.0, 1.0), ("bob", 4.0, 4.0), ("cy", 50.0, 50.0)],
}
SUBSCRIPTIONS: dict[int, dict[str, Any]] = {
    7: dict(type="fire", user="ann", radius=2.5, n=2, since=_at(2), flag=True),
    8: dict(type="flood", user="bob", radius=1.0, n=1, since=_at(0), flag=False),
    11: dict(type="' OR 1=1", user="it's", radius=-1.0, n=0, since=_at(9), flag=True),
    12: dict(type="fire", user="cy", radius=99.0, n=5, since=_at(3), flag=False),
}
ALLOWED = [
    "SELECT * FROM reports WHERE type = :type",
    "SELECT id, :user AS who FROM reports r WHERE r.at > :since AND r.open = :flag;\n",
    "SELECT '):other' AS a, id -- ) _r ' /*\nFROM reports /* :no ) */ WHERE :flag -- ;",
    # Near me, by what is known of me; a keyed dataset of which one key is asked for.
    """SELECT r.id, u.user, round(sqrt(pow(r.x - u.x, 2) + pow(r.y - u.y, 2)), 3) AS d
    FROM reports r, users u
    WHERE u.user = :user AND r.type = :type AND abs(r.x - u.x) <= :radius""",
    "SELECT r.id, u.x AS x FROM reports r, users u WHERE u.user = :user",
    # With the nearest shelters: once for all subscriptions.
    """WITH near AS (
      SELECT r.id, r.type, min_by(s.name, abs(r.x - s.x) + abs(r.y - s.y)) AS nearest,
             count(*) AS n
      FROM reports r JOIN shelters s ON abs(r.x - s.x) <= 3 AND abs(r.y - s.y) <= 3
      GROUP BY r.id, r.type)
    SELECT id, nearest, n FROM near WHERE type = :type""",
    """SELECT r.id, s.name FROM reports r LEFT JOIN shelters s
    ON s.x = r.x AND s.beds > :n WHERE r.type = :type OR r.severity > 2""",
    "SELECT count(*) AS n, sum(x) AS total FROM reports WHERE type = :type",
    """SELECT type, count(*) AS n, count(DISTINCT x) AS d FROM reports
    WHERE severity >= :n GROUP BY type HAVING count(*) > 1 OR type = :type""",
    """SELECT id FROM reports r WHERE type = :type AND
    EXISTS (SELECT 1 FROM shelters s WHERE s.x = r.x) AND x NOT IN (SELECT x FROM users)
    """,
    """SELECT id, (SELECT max(s.beds) FROM shelters s WHERE s.x = r.x) AS beds,
    CASE WHEN x > (SELECT avg(x) FROM shelters) THEN 'east' ELSE 'west' END AS side
    FROM reports r WHERE severity < :n""",
    """SELECT id AS it FROM reports WHERE type = :type
    UNION ALL SELECT name FROM shelters WHERE beds > :n""",
    "SELECT id FROM reports WHERE type = :type ORDER BY severity DESC, id LIMIT 1",
    """SELECT s.name, count(r.id) AS n FROM shelters s
    LEFT JOIN reports r ON r.x = s.x AND r.type = :type GROUP BY s.name""",
    "SELECT r.id FROM reports r ANTI JOIN users u ON u.x = r.x AND u.user = :user",
    """SELECT r.id, v.word FROM reports r
    JOIN (VALUES ('fire', 'Feuer'), ('flood', 'Flut')) AS v(type, word)
    ON r.type = v.type WHERE r.severity <> :n""",
    "SELECT r.id FROM reports r, shelters s WHERE r.type = :type LIMIT 10000",
    "SELECT q.t, :n AS n FROM (SELECT DISTINCT type AS t FROM reports WHERE x < :n) q",
]


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    session = query_session(spark)
    session.conf.set("spark.sql.shuffle.partitions", "1")
    for name, table in _tables().items():
        session.createDataFrame(table).createOrReplaceTempView(name)
    yield session
    for name in (*ROWS, "_subscriptions"):
        session.catalog.dropTempView(name)


@pytest.mark.parametrize("sql", ALLOWED)
def test_each_subscription_gets_what_its_values_give(
    spark: SparkSession, session: SparkSession, sql: str
) -> None:
    query = check_query(spark, channel(sql), DATASETS)
    found = _run(session, query, sql)
    for number, values in SUBSCRIPTIONS.items():
        expected = _expected(sql, values, [column.name for column in query.columns])
        assert sorted(found.get(number, []), key=str) == sorted(expected, key=str)


def test_results_say_what_is_null(spark: SparkSession, session: SparkSession) -> None:
    query = check_query(spark, channel("SELECT id, at FROM reports"), DATASETS)
    assert query.columns == (
        ColumnInfo("id", "string"),
        ColumnInfo("at", "timestamp"),
    )
    found = _run(session, query, "")
    assert {"id": "r7", "at": None} in found[7]


def test_one_bad_value_harms_no_other_subscription(
    spark: SparkSession, session: SparkSession
) -> None:
    sql = "SELECT id, severity / (:n - 5) AS q, CAST(:type AS int) AS i FROM reports"
    found = _run(session, check_query(spark, channel(sql), DATASETS), sql)
    assert found[12][0] == {"id": "r1", "q": None, "i": None}
    assert found[7][0] == {"id": "r1", "q": -1.0, "i": None}


def _tables() -> dict[str, pa.Table]:
    return {name: _table(DATASETS[name], rows) for name, rows in ROWS.items()}


def _table(dataset: Dataset, rows: list[tuple[Any, ...]]) -> pa.Table:
    schema = arrow_schema(dataset)
    columns = zip(*rows, strict=True)
    return pa.table(
        [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema
    )


def _run(
    session: SparkSession, query: CheckedQuery, sql: str
) -> dict[int, list[dict[str, Any]]]:
    columns = {"_subscription": pa.array(list(SUBSCRIPTIONS), pa.int64())}
    for parameter in channel(sql).parameters:
        values = [given[parameter.name] for given in SUBSCRIPTIONS.values()]
        columns[column_of(parameter.name)] = pa.array(
            values, arrow_type(parameter.type)
        )
    session.createDataFrame(pa.table(columns)).createOrReplaceTempView("_subscriptions")
    found: dict[int, list[dict[str, Any]]] = {}
    for number, data in session.sql(query.wrapped).collect():
        found.setdefault(number, []).append(json.loads(data))
    return found


def _expected(
    sql: str, values: Mapping[str, Any], names: list[str]
) -> list[dict[str, Any]]:
    """By DuckDB, with literals. What is quoted or a comment stays as it is."""
    names_ = "|".join(PARAMETERS)
    pattern = re.compile(rf"'[^']*'|--.*|/\*.*?\*/|:({names_})\b")
    text = pattern.sub(
        lambda m: _literal(values[m[1]]) if m[1] else m[0], sql.rstrip("; \n")
    )
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, table in _tables().items():
            connection.register(name, table)
        rows = connection.execute(text).fetchall()
    return [{n: _plain(v) for n, v in zip(names, row, strict=True)} for row in rows]


def _literal(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case datetime():
            return f"TIMESTAMPTZ '{value.isoformat()}'"
        case _:
            return f"({value})"


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    return value
