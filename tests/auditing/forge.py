"""Plan directories edited by hand, by someone who may mend the digests too."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from brokerwise.model.interests import BLOCK
from brokerwise.storage.place import Place
from brokerwise.storage.plan import (
    PLACEMENT,
    PlacementBlock,
    read_plan_header,
)
from brokerwise.storage.tables import small_table_digest, table_digest
from brokerwise.storage.weights import TABLES


@dataclass
class Forgery:
    """The content of a plan directory as plain lists, to be changed at will."""

    folder: Path
    header: dict[str, Any]
    rows: list[dict[str, Any]]
    brokers: list[dict[str, Any]]
    assignment: list[dict[str, Any]]
    weights: dict[str, list[dict[str, Any]]]

    @classmethod
    def of(cls, folder: Path) -> "Forgery":
        header = json.loads((folder / "plan.json").read_text())
        parts = [folder / "placement" / name for name in header["files"]["placement"]]
        return cls(
            folder,
            header,
            [row for part in parts for row in pq.read_table(part).to_pylist()],
            pq.read_table(folder / "brokers.parquet").to_pylist(),
            pq.read_table(folder / "assignment.parquet").to_pylist(),
            {
                name: pq.read_table(folder / f"{name}.parquet").to_pylist()
                for name in header.get("weighted", {})
            },
        )

    def lose_weights(self, name: str) -> None:
        """Forget a table of weights, and that there was one."""
        del self.weights[name]
        for field in ("tables", "digests", "weighted"):
            del self.header[field][name]

    def row(self, subscriber: int) -> dict[str, Any]:
        return next(row for row in self.rows if row["subscriber"] == subscriber)

    def write(self, *, mend_digests: bool) -> None:
        """Put it in place of what was there, the placement in one file."""
        brokers = pq.read_schema(self.folder / "brokers.parquet")
        assignment = pq.read_schema(self.folder / "assignment.parquet")
        names = self.header["files"]["placement"]
        for name in names[1:]:
            (self.folder / "placement" / name).unlink()
        self.header["files"]["placement"] = names[:1]
        tables = {
            "brokers.parquet": pa.Table.from_pylist(self.brokers, brokers),
            "assignment.parquet": pa.Table.from_pylist(self.assignment, assignment),
        }
        for name, lines in self.weights.items():
            tables[f"{name}.parquet"] = pa.Table.from_pylist(lines, TABLES[name])
        if names:
            rows = pa.Table.from_pylist(self.rows, PLACEMENT)
            tables[f"placement/{names[0]}"] = rows
        for name, table in tables.items():
            pq.write_table(table, self.folder / name, row_group_size=BLOCK)
        self._write_header()
        if mend_digests:
            self._mend_digests()

    def _write_header(self) -> None:
        (self.folder / "plan.json").write_text(json.dumps(self.header))

    def _mend_digests(self) -> None:
        self.header["digests"] = {
            "brokers": _digest(self.folder / "brokers.parquet"),
            "assignment": _digest(self.folder / "assignment.parquet"),
            "placement": table_digest([self._placement_digest()] if self.rows else []),
            **{name: _digest(self.folder / f"{name}.parquet") for name in self.weights},
        }
        self._write_header()
        header = read_plan_header(Place(str(self.folder)))
        self.header["digest"] = header.content_digest()
        self._write_header()

    def _placement_digest(self) -> bytes:
        """All rows make one block, as long as they are few."""
        ends = np.cumsum([0, *(len(row["topics"]) for row in self.rows)])
        topics = [t for row in self.rows for t in row["topics"]]
        brokers = [b for row in self.rows for b in row["brokers"]]
        return PlacementBlock(
            0, ends, np.array(topics, np.int32), np.array(brokers, np.int32)
        ).digest()


Edit = Callable[[Forgery], None]


def forged(folder: Path, edit: Edit, *, mend_digests: bool) -> Path:
    forgery = Forgery.of(folder)
    edit(forgery)
    forgery.write(mend_digests=mend_digests)
    return folder


def _digest(path: Path) -> str:
    return small_table_digest(pq.read_table(path))
