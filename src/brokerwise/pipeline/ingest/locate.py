"""Which line a row is on, and its text: found afterwards, for few rows."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from brokerwise.model.arrays import Int64s
from brokerwise.pipeline.ingest.sources import Source
from brokerwise.pipeline.ingest.splits import SHOWN_BYTES, Chunk, Split, read_chunks
from brokerwise.storage.place import Place


def locate(source: Source, positions: Int64s) -> Iterator[tuple[int, str]]:
    """For ascending positions, the line number (from 1) and the text of each row.

    Of a long text only the start is given; bytes that are not UTF-8 are shown as
    numbers.
    """
    if source.format == "parquet":
        return _locate_rows(source, positions)
    return _locate_lines(source, positions)


def _locate_lines(source: Source, positions: Int64s) -> Iterator[tuple[int, str]]:
    whole = Split(replace(source, first=0), 0, source.size, source.size)
    line = 1
    done = 0
    for chunk in read_chunks(whole):
        upto = int(np.searchsorted(positions, chunk.position + len(chunk.text)))
        if done < upto:
            yield from _locate_in(chunk, line, positions[done:upto])
            done = upto
        if done == len(positions):
            return
        line += 1 if chunk.overlong else chunk.text.count(b"\n")


def _locate_in(chunk: Chunk, line: int, positions: Int64s) -> Iterator[tuple[int, str]]:
    newlines = np.flatnonzero(np.frombuffer(chunk.text, np.uint8) == ord("\n"))
    for position in positions:
        at = int(position) - chunk.position
        before = int(np.searchsorted(newlines, at))
        stop = int(newlines[before]) if before < len(newlines) else len(chunk.text)
        yield line + before, _shown(chunk.text[at:stop].removesuffix(b"\r"))


def _shown(text: bytes) -> str:
    start = text[:SHOWN_BYTES]
    if len(text) > SHOWN_BYTES:
        # Not a part of a letter, but do not mind text that is not UTF-8 anyway.
        kept = start.decode("utf-8", "ignore").encode()
        start = kept if len(start) - len(kept) < 4 and start.startswith(kept) else start
    return start.decode("utf-8", "backslashreplace")


def _locate_rows(source: Source, positions: Int64s) -> Iterator[tuple[int, str]]:
    filesystem, path = Place(source.uri).open()
    columns = [str(c) for c in source.columns]
    with filesystem.open_input_file(path) as stream, pq.ParquetFile(stream) as file:
        first, done = 0, 0
        for group in range(file.num_row_groups):
            past = first + file.metadata.row_group(group).num_rows
            upto = int(np.searchsorted(positions, past))
            if done < upto:
                inside = positions[done:upto]
                rows = file.read_row_group(group, columns).take(inside - first)
                for row, position in enumerate(inside):
                    yield int(position) + 1, _row_text(rows, row)
            first, done = past, upto


def _row_text(rows: Any, row: int) -> str:
    """A row as JSON; texts that are not UTF-8 are shown as they can be."""
    cells = {}
    for name in dict.fromkeys(rows.column_names):
        cell = rows.column(name)[row]
        try:
            cells[name] = cell.as_py()
        except UnicodeDecodeError:
            cells[name] = cell.as_buffer().to_pybytes()
        if isinstance(cells[name], bytes):
            cells[name] = cells[name].decode("utf-8", "backslashreplace")
    text = json.dumps(cells, default=str, ensure_ascii=False)
    return _shown(text.encode("utf-8", "backslashreplace"))
