"""What becomes of rejected rows: an error that explains, or a table of them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from brokerwise.model.errors import InputError
from brokerwise.pipeline.attempts import attempt_name
from brokerwise.pipeline.ingest.exchange import Exchange
from brokerwise.pipeline.ingest.locate import locate
from brokerwise.pipeline.ingest.rejects import Rejects, Tally, reason_text
from brokerwise.pipeline.ingest.sources import Source
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
