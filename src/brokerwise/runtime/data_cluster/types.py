"""How a dataset's columns are stored: in Arrow, in Parquet and in Spark."""

import pyarrow as pa

from brokerwise.runtime.data_cluster.definitions import ColumnType, Dataset

_ARROW = {
    ColumnType.STRING: pa.string(),
    ColumnType.LONG: pa.int64(),
    ColumnType.DOUBLE: pa.float64(),
    ColumnType.BOOLEAN: pa.bool_(),
    ColumnType.TIMESTAMP: pa.timestamp("us", tz="UTC"),
}
_SPARK = {
    ColumnType.STRING: "STRING",
    ColumnType.LONG: "BIGINT",
    ColumnType.DOUBLE: "DOUBLE",
    ColumnType.BOOLEAN: "BOOLEAN",
    ColumnType.TIMESTAMP: "TIMESTAMP",
}


def arrow_type(type_: ColumnType) -> pa.DataType:
    return _ARROW[type_]


def spark_type(type_: ColumnType) -> str:
    """As Spark's SQL spells it."""
    return _SPARK[type_]


def arrow_schema(dataset: Dataset) -> pa.Schema:
    """Every column may be null but the key of a keyed dataset."""
    return pa.schema(
        [
            pa.field(c.name, arrow_type(c.type), nullable=c.name != dataset.key)
            for c in dataset.columns
        ]
    )


def spark_schema(dataset: Dataset) -> str:
    """What `DataFrameReader.schema` takes. Names are quoted: some are words of SQL."""
    return ", ".join(f"`{c.name}` {spark_type(c.type)}" for c in dataset.columns)
