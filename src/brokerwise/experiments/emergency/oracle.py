"""What every subscriber must get, computed once more, by other means.

From the segments that were fed, the runs' bounds and the subscriptions alone: DuckDB
and its SQL instead of Spark and the channels', a query for each run, and texts that
Python writes. The n-th text of a subscription is its result with seq n.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from brokerwise.experiments.emergency.definitions import (
    DATASETS,
    LOCATIONS,
    REPORTS,
    SHELTERS,
)
from brokerwise.experiments.emergency.recording import Recorded, RecordedRun
from brokerwise.runtime.data_cluster.records import arrow_schema

_PLACED = """
    SELECT w.id, w.values, r.*, u.x AS ux, u.y AS uy
    FROM wanted w, locations u, reports r
    WHERE u.user = {user} AND abs(r.x - u.x) <= 1000 AND abs(r.y - u.y) <= 1000
"""
_SHELTERED = """
    WITH paired AS (
        SELECT r.report, s.shelter,
               floor(sqrt(pow(r.x - s.x, 2) + pow(r.y - s.y, 2)))::BIGINT AS metres
        FROM reports r, shelters s
        WHERE greatest(abs(r.x - s.x), abs(r.y - s.y)) <= 2000
    ), ranked AS (
        SELECT *, row_number() OVER (
            PARTITION BY report ORDER BY metres, shelter) AS rank
        FROM paired
    ), nearest AS (
        SELECT report, list({'metres': metres, 'shelter': shelter} ORDER BY rank)
               AS shelters
        FROM ranked WHERE rank <= 3 GROUP BY report
    )
"""
_QUERIES = {
    "by_type": """
        SELECT w.id, r.report, r.severity, r.cell, r.text, r.fed_at
        FROM wanted w, reports r WHERE w.values[1] = r.type""",
    "in_cell": """
        SELECT w.id, r.report, r.type, r.severity, r.text, r.fed_at
        FROM wanted w, reports r WHERE w.values[1] = r.cell""",
    "near_user": f"""
        SELECT id, report, type, severity, text, fed_at,
               floor(sqrt(pow(x - ux, 2) + pow(y - uy, 2)))::BIGINT AS metres
        FROM ({_PLACED.format(user="w.values[1]")})""",
    "severe": """
        SELECT w.id, r.report, r.severity, r.text, r.fed_at
        FROM wanted w, reports r
        WHERE w.values = [r.type, r.cell] AND r.severity IN (3, 4, 5)""",
    "type_near_user": f"""{_SHELTERED}
        SELECT p.id, p.report, p.severity, p.cell, p.text, p.fed_at,
               coalesce(n.shelters, []) AS shelters
        FROM ({_PLACED.format(user="w.values[2]")}) p
        LEFT JOIN nearest n USING (report) WHERE p.type = p.values[1]""",
    "cell_shelters": f"""{_SHELTERED}
        SELECT w.id, r.report, r.type, r.severity, r.fed_at,
               coalesce(n.shelters, []) AS shelters
        FROM wanted w JOIN reports r ON w.values[1] = r.cell
        LEFT JOIN nearest n USING (report)""",
    "type_summary": """
        SELECT w.id, r.cell, count(*) AS reports, max(r.severity) AS worst,
               min(r.fed_at) AS fed_at
        FROM wanted w JOIN reports r ON w.values[1] = r.type
        GROUP BY w.id, r.cell""",
}
_SEGMENT = pa.field("segment", pa.int64())


@dataclass(frozen=True)
class Expected:
    """A result: of which run, committed when (seconds since 1970), and its text."""

    run: int
    committed: float
    text: str


class Oracle:
    """Reads the segments in `kept` as the record says they were fed."""

    def __init__(self, recorded: Recorded, kept: Path) -> None:
        self._recorded = recorded
        self._tables = {d.name: self._fed(d.name, kept) for d in DATASETS}

    def results(self) -> dict[int, list[Expected]]:
        """Of each backend subscription, in order of seq."""
        found: dict[int, list[Expected]] = {
            number: [] for number in self._recorded.subscriptions
        }
        for run in sorted(self._recorded.runs.values(), key=lambda one: one.run):
            for number, text in self.run(run):
                found[number].append(Expected(run.run, run.committed, text))
        return found

    def run(self, run: RecordedRun) -> list[tuple[int, str]]:
        """A run's results: subscription and text, in order."""
        rows = self._ask(run)
        return sorted((row.pop("id"), _text(row)) for row in rows)

    def reports(self) -> list[str]:
        """The names of all that were fed, with repetitions."""
        names: list[str] = self._tables[REPORTS.name]["report"].to_pylist()
        return names

    def _ask(self, run: RecordedRun) -> list[dict[str, Any]]:
        query = _QUERIES[run.channel]
        with duckdb.connect() as database:
            database.execute("SET threads = 1")  # small tables: more would only wait
            database.register("wanted", self._wanted(run))
            database.register("reports", self._new(run))
            if " locations " in query:
                locations = self._state(LOCATIONS.name, run)
                database.register("locations", _latest(locations, LOCATIONS.key))
            if " shelters " in query:
                database.register("shelters", self._state(SHELTERS.name, run))
            answer = database.execute(query)
            names = [column[0] for column in answer.description or ()]
            rows = answer.fetchall()
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _new(self, run: RecordedRun) -> pa.Table:
        aside = [n for name, n in self._recorded.set_aside if name == run.channel]
        table = self._tables[REPORTS.name]
        is_new = pc.and_(
            pc.greater_equal(table["segment"], run.first),
            pc.less_equal(table["segment"], run.last),
        )
        is_aside = pc.is_in(table["segment"], pa.array(aside, pa.int64()))
        return table.filter(pc.and_not(is_new, is_aside))

    def _state(self, dataset: str, run: RecordedRun) -> pa.Table:
        table = self._tables[dataset]
        return table.filter(pc.less_equal(table["segment"], run.state))

    def _wanted(self, run: RecordedRun) -> pa.Table:
        wanted = [
            {"id": one.id, "values": [str(value) for value in one.parameters]}
            for one in self._recorded.subscriptions.values()
            if one.channel == run.channel and one.version <= run.version
        ]
        schema = pa.schema([("id", pa.int64()), ("values", pa.list_(pa.string()))])
        return pa.Table.from_pylist(wanted, schema)

    def _fed(self, dataset: str, kept: Path) -> pa.Table:
        """All records in order, with the number of their segment."""
        schema = next(arrow_schema(d) for d in DATASETS if d.name == dataset)
        tables = [schema.append(_SEGMENT).empty_table()]
        for number, segment in sorted(self._recorded.segments.items()):
            if segment.dataset == dataset:
                table = pq.read_table(kept / segment.file, partitioning=None)
                numbers = pa.array([number] * table.num_rows, pa.int64())
                tables.append(table.append_column(_SEGMENT, numbers))
        return pa.concat_tables(tables).combine_chunks()


def _latest(fed: pa.Table, key: str) -> pa.Table:
    """The last record of each key, in the order in which they were fed."""
    others = [name for name in fed.column_names if name != key]
    grouped = fed.group_by(key, use_threads=False)
    latest = grouped.aggregate([(name, "last") for name in others])
    return latest.rename_columns({f"{name}_last": name for name in others})


def _text(row: dict[str, Any]) -> str:
    return json.dumps(row, separators=(",", ":"), ensure_ascii=False)
