"""Which line a row is on, and its text: found afterwards, for few rows."""

import json
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq

from brokerwise.model.arrays import Int64s
from brokerwise.pipeline.ingest.sources import Source
from brokerwise.pipeline.ingest.splits import Split, read_chunks
from brokerwise.storage.place import Place

_TEXT_BYTES = 1000
_TOO_LONG = "(line too long to keep)"


def locate(source: Source, positions: Int64s) -> Iterator[tuple[int, str]]:
    """For ascending positions, the line number (from 1) and the text of each row."""
    if source.format == "parquet":
        return _locate_rows(source, positions)
    return _locate_lines(source, positions)


def _locate_lines(source: Source, positions: Int64s) -> Iterator[tuple[int, str]]:
    whole = Split(replace(source, first=0), 0, source.size, source.size)
    line = 1
    done = 0
    for chunk in read_chunks(whole):
        if chunk.overlong:
            if done < len(positions) and positions[done] == chunk.position:
                yield line, _TOO_LONG
                done += 1
            line += 1
            continue
        end = chunk.position + len(chunk.text)
        upto = int(np.searchsorted(positions, end))
        if done < upto:
            newlines = np.flatnonzero(np.frombuffer(chunk.text, np.uint8) == 10)
            for position in positions[done:upto]:
                at = int(position) - chunk.position
                before = int(np.searchsorted(newlines, at))
                stop = newlines[before] if before < len(newlines) else len(chunk.text)
                text = chunk.text[at : min(int(stop), at + _TEXT_BYTES)]
                yield (
                    line + before,
                    text.decode("utf-8", "backslashreplace").rstrip("\r"),
                )
            done = upto
        if done == len(positions):
            return
        line += chunk.text.count(b"\n")


def _locate_rows(source: Source, positions: Int64s) -> Iterator[tuple[int, str]]:
    filesystem, path = Place(source.uri).open()
    with pq.ParquetFile(filesystem.open_input_file(path)) as file:
        first = 0
        for group in range(file.num_row_groups):
            past = first + file.metadata.row_group(group).num_rows
            inside = positions[(positions >= first) & (positions < past)]
            if len(inside):
                columns = [str(c) for c in source.columns]
                rows = file.read_row_group(group, columns).take(inside - first)
                for position, row in zip(inside, rows.to_pylist(), strict=True):
                    text = json.dumps(row, default=str, ensure_ascii=False)
                    yield int(position) + 1, text[:_TEXT_BYTES]
            first = past
