"""The topics of a workload: one small table, with columns that not all have."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.names import Names
from brokerwise.model.workload import Workload
from brokerwise.storage.digest import BLOCK, block_digest, table_digest
from brokerwise.storage.place import Place
from brokerwise.storage.subscribers import COMPRESSION, open_parquet
from brokerwise.storage.tables import NO_COLUMNS, check_columns, refuse_missing_values

_COLUMNS = ("topic", "name", "rate")
_OPTIONAL = pa.schema([("publishers", pa.int64()), ("processing_ms", pa.float64())])


@dataclass(frozen=True, eq=False)
class TopicColumns:
    """What is known of each topic, in order of their ids; None: of none of them."""

    rates: Int64s
    names: Names
    publishers: Int64s | None = None
    processing_ms: Float64s | None = None

    @classmethod
    def of(cls, workload: Workload) -> "TopicColumns":
        return cls(
            workload.rates,
            workload.topic_names,
            workload.publishers,
            workload.processing_ms,
        )

    def digest(self) -> str:
        """The same whether there was ever a column for what is not known."""
        known = self.publishers is not None or self.processing_ms is not None
        more = (self.publishers, self.processing_ms) if known else ()
        blocks = []
        for start in range(0, len(self.rates), BLOCK):
            end = start + BLOCK
            names = Names(self.names.data, self.names.offsets[start : end + 1])
            optional = [None if c is None else c[start:end] for c in more]
            blocks.append(block_digest(self.rates[start:end], names, *optional))
        return table_digest(blocks)


def write_topics(root: Place, name: str, topics: TopicColumns) -> str:
    """Write the topics table; returns its digest."""
    columns: dict[str, Any] = {
        "topic": np.arange(len(topics.rates), dtype=np.int32),
        "name": topics.names.to_arrow(),
        "rate": topics.rates,
    }
    for field in _OPTIONAL.names:
        if (values := getattr(topics, field)) is not None:
            columns[field] = values
    filesystem, path = (root / "topics" / name).open()
    pq.write_table(
        pa.table(columns),
        path,
        filesystem=filesystem,
        compression=COMPRESSION,
        row_group_size=BLOCK,
        use_dictionary=False,
    )
    return topics.digest()


def read_topic_columns(place: Place, files: Iterable[str]) -> TopicColumns:
    """The topics that some files of a workload hold, in order of their ids."""
    table = pa.concat_tables([_read(place / "topics" / name) for name in files])
    if not np.array_equal(table["topic"], np.arange(len(table))):
        raise InputError(f"{place}: the topics must be numbered from 0, in order")
    held = table.column_names
    return TopicColumns(
        table["rate"].to_numpy(),
        Names.from_arrow(table["name"]),
        *(table[f].to_numpy() if f in held else None for f in _OPTIONAL.names),
    )


def _read(file: Place) -> pa.Table:
    with open_parquet(file) as parquet:
        held = parquet.schema_arrow
        check_columns(file, held, NO_COLUMNS, optional=_OPTIONAL)
        optional = [field for field in _OPTIONAL.names if field in held.names]
        table = parquet.read(columns=[*_COLUMNS, *optional])
    for field in optional:
        refuse_missing_values(file, field, table[field])
    return table
