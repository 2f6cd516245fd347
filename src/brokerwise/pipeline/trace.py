"""A trace directory: raw files, as someone would have them before ingest.

trace.json              what made it, and counts; written last
pairs/part-00000.csv    topic,subscriber
rates/part-00000.csv    topic,rate
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import numpy as np

from brokerwise.kernels.delimited import csv_chunks
from brokerwise.model.arrays import Bytes, Int64s
from brokerwise.storage.output import Output
from brokerwise.storage.place import Place

HEADER = "trace.json"
FORMAT = 1
PAIRS_PER_FILE = 4_000_000

_TOPIC, _SUBSCRIBER = "t", "u"


@contextmanager
def writing(out: Place, *, force: bool) -> Iterator[Output]:
    """A trace under construction: it appears at the end, or not at all."""
    output = Output.begin(out, HEADER, force=force)
    try:
        for table in ("pairs", "rates"):
            (output.root / table).make()
        yield output
    except BaseException:
        output.abort()
        raise


def part_name(output: Output, number: int) -> str:
    return output.part(number).removesuffix(".parquet") + ".csv"


def write_pairs(place: Place, blocks: Iterable[tuple[Int64s, Int64s]]) -> int:
    """Write a file of pairs, given as numbers of topics and of subscribers.

    Returns how many; holds one block in memory.
    """
    count = 0

    def chunks() -> Iterator[Bytes]:
        nonlocal count
        for topics, subscribers in blocks:
            count += len(topics)
            yield from csv_chunks(_TOPIC, topics, _SUBSCRIBER, subscribers)

    _write(place, "topic,subscriber\n", chunks())
    return count


def write_rates(output: Output, rates: Int64s) -> list[str]:
    """Write the rates of topics 0, 1, ...; returns the names of the files."""
    name = part_name(output, 0)
    rows = csv_chunks(_TOPIC, np.arange(len(rates)), "", rates)
    _write(output.root / "rates" / name, "topic,rate\n", rows)
    return [name]


def commit_trace(
    output: Output,
    made_with: Mapping[str, Any],
    *,
    rates: Int64s,
    subscribers: int,
    pairs: int,
    files: Mapping[str, list[str]],
) -> dict[str, Any]:
    """Sum the trace up in its header and make it appear; returns the header."""
    header = {
        "format": FORMAT,
        "version": version("brokerwise"),
        "made_with": dict(made_with),
        "topics": len(rates),
        "subscribers": subscribers,
        "pairs": pairs,
        "events": int(rates.sum()),
        "files": dict(files),
    }
    output.commit(header)
    return header


def _write(place: Place, title: str, chunks: Iterable[Bytes]) -> None:
    filesystem, path = place.open()
    with filesystem.open_output_stream(path) as stream:
        stream.write(title.encode())
        for chunk in chunks:
            stream.write(chunk)
