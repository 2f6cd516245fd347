"""The pairs: read, told apart by subscriber, made into lists of topics, and written as
the parts of a workload."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import Broadcast, SparkContext

from brokerwise.kernels import names as kernels
from brokerwise.kernels.lists import counting_order, gather_slices, sort_lists
from brokerwise.model.arrays import (
    INT64_MAX,
    Bytes,
    Float64s,
    Int32s,
    Int64s,
    read_only,
)
from brokerwise.model.errors import InputError
from brokerwise.model.interests import BLOCK
from brokerwise.model.names import Names
from brokerwise.pipeline.ingest.exchange import Buckets, Emitted, Exchange
from brokerwise.pipeline.ingest.reasons import UNKNOWN_SHOWN, Rejects, Tally, conflicts
from brokerwise.pipeline.ingest.rows import ABSENT, Rows, read_rows
from brokerwise.pipeline.ingest.sources import Split
from brokerwise.pipeline.ingest.topics import Dictionary
from brokerwise.pipeline.tasks import attempt_name
from brokerwise.storage.output import Output
from brokerwise.storage.place import Place
from brokerwise.storage.subscribers import (
    Block,
    PartDigests,
    blocks_per_part,
    write_part,
)
from brokerwise.storage.tables import list_array, lists_of

_SAMPLE_SPOTS = 1024
_SPOT_BYTES = 4096


@dataclass(frozen=True, eq=False)
class WantedPairs:
    """Runs of pairs of one subscriber: its name, how many, and their topics."""

    data: Bytes
    lengths: Int32s
    counts: Int32s
    topics: Int32s


@dataclass(frozen=True, eq=False)
class SubscriberRows:
    """Subscribers from a file of their own, and where each row is."""

    data: Bytes
    lengths: Int32s
    thresholds: Int64s
    places: Float64s
    source: int
    position: Int64s


@dataclass(frozen=True, eq=False)
class DroppedPairs:
    """Subscribers of pairs that were left out, because their topic has no rate."""

    data: Bytes
    lengths: Int32s


@dataclass(frozen=True)
class SortedRange:
    """A bucket's subscribers, in order, in a scratch file; and what was merged.

    `wanted` is a scratch file with a bit for every topic: whether any of these
    subscribers wants it. `dropped` are subscribers of whom nothing was left.
    """

    file: str
    subscribers: int
    pairs: int
    duplicates: int
    received: int
    conflicts: tuple[Rejects, ...]
    wanted: str = ""
    dropped: int = 0


class EmitPairs:
    """Spreads pairs, and subscribers, over ranges of subscriber names."""

    def __init__(
        self, buckets: Buckets, bounds: Names, dictionary: "Broadcast[Dictionary]"
    ) -> None:
        self._buckets = buckets
        self._bounds = bounds
        self._dictionary = dictionary

    def __call__(self, rows: Rows, tally: Tally) -> Iterator[Emitted]:
        if rows.source.kind.name == "pairs":
            return self._pairs(rows, tally)
        return self._subscribers(rows)

    def _pairs(self, rows: Rows, tally: Tally) -> Iterator[Emitted]:
        topic, who = rows.names["topic"], rows.names["subscriber"]
        ids = self._dictionary.value.ids(rows.buffer, topic.starts, topic.ends)
        starts, ends = who.starts, who.ends
        known = ids >= 0
        if not known.all():
            _tally_unknown(rows, ~known, tally)
            yield from self._dropped(rows.buffer, starts[~known], ends[~known])
            ids, starts, ends = ids[known], starts[known], ends[known]
        runs = kernels.run_starts(rows.buffer, starts, ends)
        counts = np.diff(np.append(runs, len(ids)))
        starts, ends = starts[runs], ends[runs]
        for bucket, chosen in self._ranges(rows.buffer, starts, ends):
            data, _ = kernels.gather(rows.buffer, starts[chosen], ends[chosen])
            yield (
                bucket,
                WantedPairs(
                    data,
                    (ends[chosen] - starts[chosen]).astype(np.int16),
                    counts[chosen].astype(np.int32),
                    gather_slices(ids, runs[chosen], counts[chosen]),
                ),
            )

    def _dropped(
        self, buffer: Bytes, starts: Int32s, ends: Int32s
    ) -> Iterator[Emitted]:
        _, firsts = kernels.distinct(buffer, starts, ends)
        starts, ends = starts[firsts], ends[firsts]
        for bucket, chosen in self._ranges(buffer, starts, ends):
            data, _ = kernels.gather(buffer, starts[chosen], ends[chosen])
            lengths: Any = (ends[chosen] - starts[chosen]).astype(np.int16)
            yield bucket, DroppedPairs(data, lengths)

    def _subscribers(self, rows: Rows) -> Iterator[Emitted]:
        spans, count = rows.names["name"], len(rows.position)
        thresholds = rows.numbers.get("threshold", np.full(count, ABSENT))
        nowhere = np.full(count, np.nan)
        places = np.column_stack([rows.numbers.get(c, nowhere) for c in ("x", "y")])
        for bucket, chosen in self._ranges(rows.buffer, spans.starts, spans.ends):
            starts, ends = spans.starts[chosen], spans.ends[chosen]
            data, _ = kernels.gather(rows.buffer, starts, ends)
            yield (
                bucket,
                SubscriberRows(
                    data,
                    (ends - starts).astype(np.int16),
                    thresholds[chosen],
                    places[chosen],
                    rows.source.index,
                    rows.position[chosen],
                ),
            )

    def _ranges(
        self, buffer: Bytes, starts: Int32s, ends: Int32s
    ) -> Iterator[tuple[int, Int64s]]:
        bounds = self._bounds
        buckets = kernels.range_buckets(
            buffer, starts, ends, bounds.data, bounds.offsets
        )
        order, ranges = counting_order(buckets, self._buckets.data)
        for bucket in range(self._buckets.data):
            if ranges[bucket] < ranges[bucket + 1]:
                yield bucket, order[ranges[bucket] : ranges[bucket + 1]]


def _tally_unknown(rows: Rows, unknown: Any, tally: Tally) -> None:
    tally.unknown_pairs += int(unknown.sum())
    if len(tally.unknown_topics) < UNKNOWN_SHOWN:
        spans = rows.names["topic"]
        for i in np.flatnonzero(unknown)[: 20 * UNKNOWN_SHOWN]:
            name = rows.buffer[spans.starts[i] : spans.ends[i]].tobytes().decode()
            tally.unknown_topics.add(name)


def sample_bounds(
    context: SparkContext, groups: Sequence[Sequence[Split]], ranges: int
) -> Names:
    """Names that cut the subscribers of a sample of pairs into about equal ranges.

    A cut decides only which task sorts a subscriber, never the result.
    """
    if ranges < 2:
        return Names.of([])
    spots = max(1, _SAMPLE_SPOTS // max(1, len(groups)))
    sampled = (
        context.parallelize(list(groups), max(1, min(len(groups), 64)))
        .flatMap(lambda group: [_sample(split, spots) for split in group])
        .collect()
    )
    return cut_names([name for sample in sampled for name in sample], ranges)


def cut_names(sample: Iterable[bytes], ranges: int) -> Names:
    """Names that cut a sample into about equal ranges."""
    names = sorted(sample)
    cuts = [names[len(names) * k // ranges] for k in range(1, ranges) if names]
    unique = sorted(set(cuts))
    lengths = np.cumsum([0, *map(len, unique)]).astype(np.int64)
    return Names(np.frombuffer(b"".join(unique), np.uint8), lengths)


def _sample(split: Split, spots: int) -> list[bytes]:
    """Some subscriber names from all over a split."""
    found: list[bytes] = []
    for piece in _spots(split, spots):
        for rows in read_rows(piece):
            spans = rows.names["subscriber"]
            text = rows.buffer.tobytes()
            step = max(1, len(spans.starts) // (64 if piece is not split else 256))
            found += [
                text[s:e]
                for s, e in zip(
                    spans.starts[::step].tolist(),
                    spans.ends[::step].tolist(),
                    strict=True,
                )
            ]
    return found


def _spots(split: Split, spots: int) -> Iterator[Split]:
    """Small pieces of plain text; other files are read whole."""
    if split.source.format == "parquet" or split.source.gzipped:
        yield split
        return
    size = max(_SPOT_BYTES, split.size // spots)
    for start in range(split.start, split.end, size):
        end = min(start + _SPOT_BYTES, split.end)
        yield Split(split.source, start, end, end - start)


def sort_pairs(
    exchange: Exchange,
    scratch: Place,
    rates: "Broadcast[Int64s]",
    attributes: frozenset[str],
) -> list[SortedRange]:
    """Sort each range into a scratch file: names in order, topics ascending, once.

    `attributes` (threshold, x, y) are what the subscribers have besides a name.
    """

    def task(bucket: int, items: Iterator[Any]) -> Iterator[SortedRange]:
        yield _sort_bucket(list(items), scratch, bucket, rates.value, attributes)

    return exchange.read(task)


def _sort_bucket(
    items: list[WantedPairs | SubscriberRows | DroppedPairs],
    scratch: Place,
    bucket: int,
    rates: Int64s,
    attributes: frozenset[str],
) -> SortedRange:
    wanted = [i for i in items if isinstance(i, WantedPairs)]
    described = [i for i in items if isinstance(i, SubscriberRows)]
    named: list[WantedPairs | SubscriberRows] = [*wanted, *described]
    dropped = _only_dropped(named, [i for i in items if isinstance(i, DroppedPairs)])
    if not named:
        return SortedRange("", 0, 0, 0, 0, (), dropped=dropped)
    data, offsets = _joined_names(named)
    starts, ends = offsets[:-1], offsets[1:]
    order = kernels.sort_order(data, starts, ends)
    firsts = kernels.run_starts(data, starts[order], ends[order])
    owner = np.empty(len(order), np.int64)
    owner[order] = np.repeat(
        np.arange(len(firsts)), np.diff(np.append(firsts, len(order)))
    )
    runs = sum(len(i.lengths) for i in wanted)
    lists, topics, pairs = _lists(wanted, order[order < runs], owner, len(firsts))
    first_names = order[firsts]
    names = Names(*kernels.gather(data, starts[first_names], ends[first_names]))
    thresholds, places, differing = _descriptions(described, owner[runs:], len(firsts))
    file = attempt_name("sorted", bucket, ".arrow")
    columns: dict[str, Any] = {
        "name": names.to_arrow().cast(pa.large_string()),
        "topics": list_array(lists, topics),
    }
    if "threshold" in attributes:
        columns["threshold"] = thresholds
    if "x" in attributes:
        columns["x"], columns["y"] = places[:, 0], places[:, 1]
    _write_scratch(scratch / file, pa.table(columns))
    return SortedRange(
        file,
        len(names),
        len(topics),
        pairs - len(topics),
        _exact_sum(rates[topics]),
        tuple(differing),
        _write_wanted(scratch, bucket, topics, len(rates)),
        dropped,
    )


def _joined_names(
    items: Sequence[WantedPairs | SubscriberRows | DroppedPairs],
) -> tuple[Bytes, Int64s]:
    offsets = np.zeros(sum(len(i.lengths) for i in items) + 1, np.int64)
    np.cumsum(np.concatenate([i.lengths for i in items]), out=offsets[1:])
    return read_only(np.concatenate([i.data for i in items])), offsets


def _only_dropped(
    named: Sequence[WantedPairs | SubscriberRows], dropped: Sequence[DroppedPairs]
) -> int:
    """How many subscribers were dropped and are not named by anything else."""
    if not dropped:
        return 0
    everyone = _distinct_names([*named, *dropped])
    return everyone - (_distinct_names(named) if named else 0)


def _distinct_names(
    items: Sequence[WantedPairs | SubscriberRows | DroppedPairs],
) -> int:
    data, offsets = _joined_names(items)
    _, firsts = kernels.distinct(data, offsets[:-1], offsets[1:])
    return len(firsts)


def _write_wanted(scratch: Place, bucket: int, topics: Int32s, count: int) -> str:
    wanted = np.zeros(count, np.bool_)
    wanted[topics] = True
    file = attempt_name("wanted", bucket, ".bits")
    (scratch / file).write(np.packbits(wanted).tobytes())
    return file


def count_unwanted(ranges: Sequence[SortedRange], scratch: Place, topics: int) -> int:
    """How many topics nobody wants. Holds a bit for every topic."""
    wanted = np.zeros(-(-topics // 8), np.uint8)
    for part in ranges:
        if part.wanted:
            wanted |= np.frombuffer((scratch / part.wanted).read(), np.uint8)
    return topics - int(np.bitwise_count(wanted).sum())


def refuse_too_much(ranges: Sequence[SortedRange], rates: Int64s) -> None:
    """Refuse a workload whose rates, of topics and pairs, do not add up in 64 bits."""
    total = sum(r.received for r in ranges) + int(rates.sum())
    if total > INT64_MAX:
        raise InputError(
            f"total rate of all topics and pairs: found {total:,}, expected at most "
            f"{INT64_MAX:,} (2^63 - 1); nothing was written"
        )


def _exact_sum(values: Int64s) -> int:
    """A sum of whole numbers, which may be too large for 64 bits."""
    near = float(values.sum(dtype=np.float64))
    return int(values.sum()) if near < 2**62 else sum(values.tolist())


def _lists(
    wanted: list[WantedPairs], order: Int64s, owner: Int64s, subscribers: int
) -> tuple[Int64s, Int32s, int]:
    """Each subscriber's topics; also how many pairs there were with repeats."""
    if not wanted:
        return np.zeros(subscribers + 1, np.int64), np.zeros(0, np.int32), 0
    counts = np.concatenate([w.counts for w in wanted]).astype(np.int64)
    starts = np.cumsum(counts) - counts
    topics = np.concatenate([w.topics for w in wanted])
    gathered = gather_slices(topics, starts[order], counts[order])
    sizes = np.zeros(subscribers, np.int64)
    np.add.at(sizes, owner[: len(counts)], counts)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return *sort_lists(offsets, gathered), len(gathered)


def _descriptions(
    described: list[SubscriberRows], owner: Int64s, subscribers: int
) -> tuple[Int64s, Float64s, list[Rejects]]:
    """Thresholds and places; of rows that disagree on one subscriber the least
    (by threshold, x, y) is kept, whatever their order."""
    thresholds = np.full(subscribers, ABSENT, np.int64)
    places = np.full((subscribers, 2), np.nan)
    if not described:
        return thresholds, places, []
    given = np.concatenate([d.thresholds for d in described])
    where = np.concatenate([d.places for d in described])
    source = np.concatenate([np.full(len(d.position), d.source) for d in described])
    position = np.concatenate([d.position for d in described])
    order = np.lexsort((where[:, 1], where[:, 0], given, owner))
    first = order[np.append(True, np.diff(owner[order]) > 0)]
    thresholds[owner[first]] = given[first]
    places[owner[first]] = where[first]
    kept = places[owner]
    same = (given == thresholds[owner]) & (
        (where == kept) | (np.isnan(where) & np.isnan(kept))
    ).all(axis=1)
    return thresholds, places, conflicts(source[~same], position[~same])


def _write_scratch(place: Place, table: pa.Table) -> None:
    filesystem, path = place.open()
    with (
        filesystem.open_output_stream(path) as stream,
        pa.ipc.new_file(stream, table.schema) as writer,
    ):
        writer.write_table(table, BLOCK)


@dataclass(frozen=True)
class Piece:
    """Rows [start, end) of a scratch file."""

    file: str
    start: int
    end: int


@dataclass(frozen=True)
class Part:
    """A part to write: for each of its blocks the pieces that make it up."""

    number: int
    first: int
    blocks: tuple[tuple[Piece, ...], ...]


def plan_parts(ranges: Sequence[SortedRange]) -> list[Part]:
    """Cut consecutive ranges of subscribers into blocks, and blocks into parts."""
    ends = np.cumsum([r.subscribers for r in ranges]).astype(int)
    subscribers = int(ends[-1]) if len(ends) else 0
    per_part = blocks_per_part(subscribers, sum(r.pairs for r in ranges))
    blocks = [
        _pieces(ranges, ends, start, min(start + BLOCK, subscribers))
        for start in range(0, subscribers, BLOCK)
    ]
    return [
        Part(number, start * BLOCK, tuple(blocks[start : start + per_part]))
        for number, start in enumerate(range(0, len(blocks), per_part))
    ]


def _pieces(
    ranges: Sequence[SortedRange],
    ends: "np.typing.NDArray[np.int_]",
    start: int,
    end: int,
) -> tuple[Piece, ...]:
    pieces = []
    at = int(np.searchsorted(ends, start, side="right"))
    while start < end:
        first = int(ends[at]) - ranges[at].subscribers
        stop = min(end, int(ends[at]))
        if stop > start:
            pieces.append(Piece(ranges[at].file, start - first, stop - first))
        start = stop
        at += 1
    return tuple(pieces)


def write_parts(
    context: SparkContext, parts: Sequence[Part], scratch: Place, output: Output
) -> dict[str, PartDigests]:
    """Write all parts."""
    tables = ("interests", "subscribers")
    attempts, run = output.attempts(*tables), output.run

    def task(part: Part) -> tuple[int, str, PartDigests]:
        name = attempt_name(run, part.number)
        return part.number, name, write_part(attempts, name, _blocks(part, scratch))

    written = context.parallelize(list(parts), max(1, len(parts))).map(task).collect()
    digests = {}
    for number, attempt, digest in sorted(written, key=lambda w: w[0]):
        name = output.part(number)
        for table in tables:
            output.keep(f"{table}/{attempt}", f"{table}/{name}")
        digests[name] = digest
    return digests


def _blocks(part: Part, scratch: Place) -> Iterator[Block]:
    first = part.first
    for pieces in part.blocks:
        table = pa.concat_tables([_read(scratch, piece) for piece in pieces])
        offsets, topics = lists_of(table["topics"])
        held = table.column_names
        yield Block(
            first,
            Names.from_arrow(table["name"].combine_chunks()),
            offsets,
            topics,
            table["threshold"].to_numpy() if "threshold" in held else None,
            np.column_stack([table["x"].to_numpy(), table["y"].to_numpy()])
            if "x" in held
            else None,
        )
        first += len(table)


def _read(scratch: Place, piece: Piece) -> pa.Table:
    """Rows of a scratch file, which has batches of BLOCK rows."""
    filesystem, path = (scratch / piece.file).open()
    local = (scratch / piece.file).local
    source = pa.memory_map(path) if local else filesystem.open_input_file(path)
    with source, pa.ipc.open_file(source) as file:
        first, last = piece.start // BLOCK, (piece.end - 1) // BLOCK
        batches = [file.get_batch(i) for i in range(first, last + 1)]
        table = pa.Table.from_batches(batches)
        return table.slice(piece.start - first * BLOCK, piece.end - piece.start)
