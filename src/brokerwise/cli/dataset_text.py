"""Datasets in words."""

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from brokerwise.cli.fleet_options import with_state
from brokerwise.cli.printable import printable
from brokerwise.cli.table import many, size, table

if TYPE_CHECKING:
    from brokerwise.runtime.protocol.data import Dataset, DatasetStatus, RejectedRecord

_HEADS = ("dataset", "kind", "columns", "records", "fed", "kept aside")
_SHOWN = 100  # characters of a record


def created_text(dataset: "Dataset", state: Path) -> str:
    key = f", one record for each {dataset.key}" if dataset.key else ""
    columns = many(len(dataset.columns), "column")
    feed = with_state(f"brokerwise feed {dataset.name} FILE", state)
    first = f"Dataset {dataset.name} is there: {dataset.kind}, {columns}{key}."
    return f"{first}\nFeed it: {feed}"


def list_text(datasets: Sequence["DatasetStatus"]) -> str:
    if not datasets:
        return "No datasets yet.\nMake one: brokerwise dataset create --help"
    rows = [
        (
            one.name,
            f"{one.kind} by {one.key}" if one.key else one.kind,
            f"{len(one.columns):,}",
            f"{one.rows:,}",
            f"{one.fed:,}",
            f"{one.rejected:,}",
        )
        for one in datasets
    ]
    records = sum(one.rows for one in datasets)
    first = f"{many(len(datasets), 'dataset')}, {many(records, 'record')}."
    return printable("\n".join([first, *table([_HEADS, *rows])]))


def show_text(dataset: "DatasetStatus") -> str:
    key = f" by {dataset.key}" if dataset.key else ""
    segments = many(dataset.segments, "segment")
    first = (
        f"{dataset.name} ({dataset.kind}{key}): {many(dataset.rows, 'record')} in "
        f"{segments}, {size(dataset.bytes)}; {dataset.fed:,} fed{_last(dataset)}, "
        f"{dataset.rejected:,} kept aside."
    )
    rows = [("column", "type"), *((c.name, c.type) for c in dataset.columns)]
    return printable("\n".join([first, *table(rows), *_aside(dataset.last_rejected)]))


def dropped_text(dataset: "DatasetStatus") -> str:
    return f"Dataset {dataset.name} is gone, with {many(dataset.rows, 'record')}."


def _last(dataset: "DatasetStatus") -> str:
    return "" if dataset.last_fed is None else f" (last {_when(dataset.last_fed)})"


def _aside(records: Sequence["RejectedRecord"]) -> Iterable[str]:
    if records:
        yield "Kept aside, the newest first:"
    for one in records:
        yield f"  {_when(one.at)}  {one.reason}"
        yield f"    {_cut(one.text)}"


def _when(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def _cut(text: str) -> str:
    line = text.replace("\n", " ")
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]} ..."
