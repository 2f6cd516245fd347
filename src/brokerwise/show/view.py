"""What the page of any plan is made of: what an opened plan can be asked, names by a
part of them, single rows of large tables, and a report's page as JSON."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from itertools import accumulate
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from brokerwise.model.arrays import Int64s
from brokerwise.model.names import Names
from brokerwise.show.page import Page
from brokerwise.show.plots import Plot
from brokerwise.show.reports import page_of, result_in
from brokerwise.show.results import gap_text
from brokerwise.show.tables import Fact, Table
from brokerwise.show.wiring_map import Map
from brokerwise.storage.output import RESULT
from brokerwise.storage.place import Place
from brokerwise.storage.tables import lists_of, open_parquet

Json = Mapping[str, Any]

FOUND = 20
"""Topics, and subscribers, that one search names."""
LISTED = 500
"""Rows of a table of one broker, and brokers of a plan, that a page shows."""


def found(name: str, why: str, where: Sequence[Json]) -> Json:
    """Something that was searched for; of very many places some are listed."""
    return {"name": name, "why": why, "where": where[:LISTED], "places": len(where)}


@dataclass(frozen=True)
class View:
    """A plan whose small parts are in memory; the rest is read when it is asked for.

    Attributes
    ----------
    plan
        The whole at a glance.
    find
        Topics and subscribers whose names are a text, begin with it or hold it.
    broker
        What one broker has, by its number; None if there is no such broker.
    """

    plan: Json
    find: Callable[[str], Json]
    broker: Callable[[int], Json | None]


_NAMED = 3


def quoted(name: str) -> str:
    return f'"{name}"'


def listed(names: Sequence[str], most: int = _NAMED) -> str:
    """`b1`, `b1 and b4`, `b1, b2, b4 and 7 more`."""
    if len(names) > most + 1:
        return f"{', '.join(names[:most])} and {len(names) - most:,} more"
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


@dataclass(frozen=True)
class Hits:
    """Numbers of names that were found, the best first, and whether there are more."""

    numbers: tuple[int, ...] = ()
    more: bool = False


class Search:
    """Looks through names; O(bytes of all names) a search, in compiled code."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self._array: pa.Array = names.to_arrow()

    def hits(self, text: str, most: int = FOUND) -> Hits:
        """The name that is `text`, then those that begin with it, then those that hold
        it; each in the order of their numbers."""
        if not text:
            return Hits()
        found: dict[int, None] = {}
        for looks in (pc.equal, pc.starts_with, pc.match_substring):
            if len(found) <= most:
                held = looks(self._array, text)
                mask = held.to_numpy(zero_copy_only=False)
                numbers = np.flatnonzero(mask)[: most + 1 + len(found)].tolist()
                found |= dict.fromkeys(numbers)
        return Hits(tuple(found)[:most], len(found) > most)


@dataclass(frozen=True)
class Rows:
    """A table in parts, whose rows are numbered from 0 through all of them.

    Only the row group that a row is in is read: up to 65,536 rows.
    """

    folder: Place
    groups: tuple[tuple[str, int], ...]
    starts: tuple[int, ...]

    @classmethod
    def of(cls, folder: Place, parts: Sequence[str]) -> "Rows":
        groups, lengths = [], [0]
        for name in parts:
            with open_parquet(folder / name) as parquet:
                for group in range(parquet.num_row_groups):
                    groups.append((name, group))
                    lengths.append(parquet.metadata.row_group(group).num_rows)
        return cls(folder, tuple(groups), tuple(accumulate(lengths))[:-1])

    def row(self, number: int, *columns: str) -> dict[str, Any]:
        """Some columns of one row, as plain Python."""
        at = bisect_right(self.starts, number) - 1
        name, group = self.groups[at]
        with open_parquet(self.folder / name) as parquet:
            table = parquet.read_row_group(group, columns=list(columns))
        found: dict[str, Any] = table.slice(number - self.starts[at], 1).to_pylist()[0]
        return found


def read_names(folder: Place, parts: Sequence[str]) -> Names:
    """The names of all subscribers of a workload."""
    chunks = []
    for name in parts:
        with open_parquet(folder / name) as parquet:
            column = parquet.read(columns=["name"])["name"]
            chunks += column.cast(pa.large_string()).chunks
    return Names.from_arrow(pa.chunked_array(chunks, pa.large_string()))


def has_column(folder: Place, parts: Sequence[str], column: str) -> bool:
    """Whether a table in parts has a column; all parts have the same."""
    if not parts:
        return False
    with open_parquet(folder / parts[0]) as parquet:
        return column in parquet.schema_arrow.names


def count_followers(folder: Place, parts: Sequence[str], topics: int) -> Int64s:
    """How many subscribers want each topic: one pass, a row group in memory at once."""
    found = np.zeros(topics, np.int64)
    for name in parts:
        with open_parquet(folder / name) as parquet:
            for group in range(parquet.num_row_groups):
                column = parquet.read_row_group(group, columns=["topics"])["topics"]
                found += np.bincount(lists_of(column)[1], minlength=topics)
    return found


# It has a place of its own on the page.
_COMMAND = "Command"


def page_json(page: Page) -> dict[str, Any]:
    """All that a page says; facts that are not known are left out, and so is the map of
    an overlay, which has its own data."""
    drawn = [p for p in page.plots if p.drawable and not isinstance(p, Map)]
    known = [f for f in page.inputs if f.value and f.label != _COMMAND]
    return {
        "title": page.title,
        "question": page.question,
        "answer": page.answer,
        **{key: page.data[key] for key in ("kind", "status", "objective", "bound")},
        "gap": page.data["gap"],
        "gap_text": gap_text(page.data["gap"]),
        "facts": facts_json(page.facts),
        "inputs": facts_json(known),
        "tables": tables_json(page.tables),
        "plots": [plot_json(plot) for plot in drawn],
        "command": page.data["command"],
    }


def facts_json(facts: Iterable[Fact]) -> list[list[str]]:
    return [[fact.label, fact.value, fact.note] for fact in facts]


def tables_json(tables: Sequence[Table]) -> list[Json]:
    return [
        {
            "caption": t.caption,
            "columns": list(t.columns),
            "rows": list(map(list, t.rows)),
        }
        for t in tables
    ]


def plot_json(plot: Plot) -> Json:
    """What to draw, in words and as numbers."""
    return {
        "title": plot.title,
        "caption": plot.caption,
        "wide": plot.wide,
        "tables": tables_json(plot.tables),
        **_plain(plot.spec()),
    }


def _plain(spec: Any) -> Any:
    """A spec without the escapes that the drawing library of reports needs: the page
    never reads text as markup."""
    if isinstance(spec, str):
        return unescape(spec)
    if isinstance(spec, dict):
        return {key: _plain(value) for key, value in spec.items()}
    if isinstance(spec, list):
        return [_plain(value) for value in spec]
    return spec


def unsaid(seconds: Mapping[str, float]) -> dict[str, Any]:
    """How a plan was made, as far as plan.json says: the seconds of its stages."""
    whole = {**seconds, "total": sum(seconds.values())}
    return {"command": "", "version": "", "seconds": whole}


_ALWAYS = ("command", "version", "seconds")


def kept_of(place: Place, digest: str, *keys: str) -> dict[str, Any]:
    """Some fields of a plan's `result.json`; none if it is not there, as with plans of
    the Python API, or is of another plan.

    What a plan says itself is not taken from there: nobody audits that file.
    """
    file = place / RESULT
    if not file.exists() or (file.local is not None and not file.local.is_file()):
        return {}
    kept = result_in(file.read(), str(file))
    if kept.get("digest") != digest:
        return {}
    return {key: kept[key] for key in (*_ALWAYS, *keys) if key in kept}


def page_of_plan(place: Place, result: dict[str, Any]) -> Page:
    """The report's page. Raises InputError if what was kept does not fit."""
    return page_of(result, str(place / RESULT))


class Brokers(Protocol):
    """The brokers of an opened plan, and what is on them."""

    def find(self, text: str) -> Json: ...
    def brokers(self) -> Sequence[Json]: ...
    def broker(self, number: int) -> Json | None: ...


def view_of(
    page: Page, brokers: Brokers, unit: str, count: int, overlay: Json | None = None
) -> View:
    """A report's page with its brokers, `count` of them, whose load is in a `unit`."""
    return View(
        {
            **page_json(page),
            "unit": unit,
            "brokers": brokers.brokers(),
            "broker_count": count,
            "overlay": overlay,
        },
        brokers.find,
        brokers.broker,
    )
