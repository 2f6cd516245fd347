"""Raw files as users have them, in every format, and what they should become."""

import gzip
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from brokerwise.model.workload import Workload

Pair = tuple[str, str]
Rate = tuple[str, int]


def write_csv(
    path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]
) -> None:
    path.write_text(_delimited(",", header, rows))


def write_tsv(
    path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]
) -> None:
    path.write_text(_delimited("\t", header, rows))


def write_txt(
    path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]
) -> None:
    path.write_text("# " + " ".join(header) + "\n" + _delimited("  ", (), rows))


def write_gzip(
    path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]
) -> None:
    path.write_bytes(gzip.compress(_delimited(",", header, rows).encode()))


def write_jsonl(
    path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]
) -> None:
    lines = (json.dumps(dict(zip(header, row, strict=True))) for row in rows)
    path.write_text("\n".join(lines) + "\n")


def write_parquet(
    path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]
) -> None:
    columns = list(zip(*rows, strict=True)) or [() for _ in header]
    table = pa.table({n: list(c) for n, c in zip(header, columns, strict=True)})
    pq.write_table(table, path, row_group_size=7)


WRITERS: dict[
    str, Callable[[Path, Sequence[str], Iterable[Sequence[object]]], None]
] = {
    ".csv": write_csv,
    ".tsv": write_tsv,
    ".txt": write_txt,
    ".csv.gz": write_gzip,
    ".jsonl": write_jsonl,
    ".parquet": write_parquet,
}


def expected(pairs: Iterable[Pair], rates: Iterable[Rate]) -> Workload:
    """The workload that these rows make, without any of ingest's code."""
    pairs = list(pairs)
    return Workload.from_pairs(
        topics=[topic for topic, _ in pairs],
        subscribers=[subscriber for _, subscriber in pairs],
        rates=dict(rates),
    )


def _delimited(
    delimiter: str, header: Sequence[str], rows: Iterable[Sequence[object]]
) -> str:
    lines = [header, *rows] if header else list(rows)
    return "".join(delimiter.join(map(str, line)) + "\n" for line in lines)
