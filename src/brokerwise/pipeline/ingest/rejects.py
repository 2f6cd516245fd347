"""What becomes of rejected rows: an error that explains, or a table of them."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from brokerwise.model.arrays import Int64s
from brokerwise.model.errors import InputError
from brokerwise.pipeline.ingest.exchange import Exchange
from brokerwise.pipeline.ingest.reasons import Rejects, Tally, reason_text
from brokerwise.pipeline.ingest.sources import (
    SHOWN_BYTES,
    Chunk,
    Source,
    Split,
    read_chunks,
)
from brokerwise.pipeline.tasks import attempt_name
from brokerwise.storage.output import Output
from brokerwise.storage.place import Place

SCHEMA = pa.schema(
    [
        ("file", pa.string()),
        ("line", pa.int64()),
        ("text", pa.string()),
        ("reason", pa.string()),
    ]
)
_ROWS_PER_WRITE = 100_000


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
        yield line + before, _shown_bytes(chunk.text[at:stop].removesuffix(b"\r"))


def _shown_bytes(text: bytes) -> str:
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
    return _shown_bytes(text.encode("utf-8", "backslashreplace"))


def count_rejected(tally: Tally, sources: Sequence[Source], kind: str) -> int:
    return sum(
        count
        for (source, _, _), (count, _) in tally.reasons.items()
        if sources[source].kind.name == kind
    )


def refuse_too_many(
    tally: Tally, sources: Sequence[Source], limit: float, out: str
) -> None:
    """Raise if more rows of a kind were rejected than the limit allows."""
    if tally.problem:
        raise InputError(f"{tally.problem}; nothing was written")
    for kind, rows in tally.rows.items():
        rejected = count_rejected(tally, sources, kind)
        if rejected > limit * rows:
            share = rejected / rows
            raise InputError(
                f"{rejected:,} of {rows:,} rows of {_files(sources, kind)} cannot be "
                f"used ({_percent(share)}, limit {_percent(limit)}); "
                "nothing was written",
                details=_examples(tally, sources, kind),
                hint=f"Accept them with --max-rejected {math.ceil(100 * share)}% "
                f"(they are kept in {out}/rejected), or fix the input.",
            )


def refuse_repeated(late: Sequence[Rejects], sources: Sequence[Source]) -> None:
    """Raise for rows that give a topic another rate than a row that was kept."""
    if late:
        rows = sum(len(rejects.position) for rejects in late)
        source, position = min((r.source, int(r.position.min())) for r in late)
        raise InputError(
            f"{_files(sources, 'rates')}: found another rate for a topic that has one "
            f"{rows:,} times (first: {place_of(sources[source], position)}); nothing "
            "was written",
            hint="Add them up with --repeated-rates sum, or take the largest with "
            "--repeated-rates largest.",
        )


def refuse_bad(source: Source, rejects: Rejects) -> None:
    """Raise for the first of some rejected rows, of a file that must have none."""
    if len(rejects.position):
        reason = reason_text(source, int(rejects.reason[0]), int(rejects.found[0]))
        raise InputError(f"{place_of(source, int(rejects.position[0]))}: {reason}")


def place_of(source: Source, position: int) -> str:
    """File and line of a row, for errors."""
    line, _ = next(locate(source, np.array([position])))
    return f"{source.name} line {line:,}"


def _files(sources: Sequence[Source], kind: str) -> str:
    files = [s.name for s in sources if s.kind.name == kind]
    return files[0] if len(files) == 1 else f"{len(files):,} {kind} files"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _examples(tally: Tally, sources: Sequence[Source], kind: str) -> list[str]:
    """For each reason how often, and the first row with it; most frequent first."""
    counts: dict[str, int] = {}
    firsts: dict[str, tuple[int, int]] = {}
    for (index, reason, found), (count, first) in tally.reasons.items():
        if sources[index].kind.name == kind:
            text = reason_text(sources[index], reason, found)
            counts[text] = counts.get(text, 0) + count
            firsts[text] = min(firsts.get(text, (index, first)), (index, first))
    several = sum(s.kind.name == kind for s in sources) > 1
    width = max(len(f"{count:,}") for count in counts.values())
    lines = []
    for text in sorted(counts, key=lambda t: (-counts[t], firsts[t])):
        index, first = firsts[text]
        line, row = next(locate(sources[index], np.array([first])))
        where = f"{sources[index].name} line {line:,}" if several else f"line {line:,}"
        lines.append(f"{counts[text]:>{width},}  {where}: {text}: {_shown(row)}")
    return lines


def _shown(row: str) -> str:
    return f'"{row[:80]}..."' if len(row) > 80 else f'"{row}"'


def write_rejected(
    exchange: Exchange,
    late: Sequence[Rejects],
    sources: Sequence[Source],
    output: Output,
    first_part: int,
) -> list[str]:
    """Write rejected rows, with line and text, to `rejected/`; returns the files."""
    attempts, run = output.attempts("rejected") / "rejected", output.run
    buckets = exchange.buckets
    extra: dict[int, list[Rejects]] = {}
    for rejects in late:
        extra.setdefault(buckets.of_rejects(rejects.source), []).append(rejects)

    def task(bucket: int, items: Iterator[Any]) -> Iterator[str]:
        found: dict[int, list[Rejects]] = {}
        for rejects in [*items, *extra.get(bucket, [])]:
            found.setdefault(rejects.source, []).append(rejects)
        if found:
            name = attempt_name(run, bucket)
            _write(attempts / name, found, sources)
            yield name

    names = []
    for number, attempt in enumerate(sorted(exchange.read_rejects(task)), first_part):
        names.append(output.part(number))
        output.keep(f"rejected/{attempt}", f"rejected/{names[-1]}")
    return names


def _write(
    place: Place, found: Mapping[int, list[Rejects]], sources: Sequence[Source]
) -> None:
    filesystem, path = place.open()
    with pq.ParquetWriter(path, SCHEMA, filesystem=filesystem) as writer:
        for index in sorted(found):
            for rows in _described(sources[index], found[index]):
                writer.write_table(pa.Table.from_pylist(rows, SCHEMA))


def _described(
    source: Source, rejects: list[Rejects]
) -> Iterator[list[dict[str, Any]]]:
    position = np.concatenate([r.position for r in rejects])
    reason = np.concatenate([r.reason for r in rejects])
    found = np.concatenate([r.found for r in rejects])
    order = np.argsort(position, kind="stable")
    located = locate(source, position[order])
    rows: list[dict[str, Any]] = []
    for (line, text), row in zip(located, order, strict=True):
        why = reason_text(source, int(reason[row]), int(found[row]))
        rows.append({"file": source.name, "line": line, "text": text, "reason": why})
        if len(rows) == _ROWS_PER_WRITE:
            yield rows
            rows = []
    yield rows
