"""Traces: directories of raw files, as someone would have them before ingest.

    trace.json              what made it, and counts; written last
    pairs/part-00000.csv    topic,subscriber
    rates/part-00000.csv    topic,rate

In a uniform trace every subscriber wants as many topics, any with equal chance.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from brokerwise.kernels.delimited import csv_chunks
from brokerwise.kernels.sampling import Bins
from brokerwise.model.arrays import INT64_MAX, Bytes, Int64s
from brokerwise.model.errors import InputError
from brokerwise.storage.output import Output, new_output
from brokerwise.storage.place import Place

if TYPE_CHECKING:
    from brokerwise.pipeline.progress import Progress

HEADER = "trace.json"
FORMAT = 1
PAIRS_PER_FILE = 4_000_000
_TOPIC, _SUBSCRIBER = "t", "u"
_MOST_TOPICS = 2**31 - 1
_MOST_SUBSCRIBERS = 2**40
_PAIRS_PER_BLOCK = 1_000_000
_RATES, _PAIRS = 0, 1  # what a stream of random numbers is for


@contextmanager
def writing(out: Place, *, force: bool) -> Iterator[Output]:
    """A trace under construction: it appears at the end, or not at all."""
    with new_output(out, HEADER, force=force) as output:
        for table in ("pairs", "rates"):
            (output.root / table).make()
        yield output


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


@dataclass(frozen=True)
class RateRange:
    """Whole numbers from `least` to `most`, both included."""

    least: int
    most: int

    @classmethod
    def parse(cls, text: str) -> "RateRange":
        """`10`, or `8-19`."""
        match = re.fullmatch(r"(\d{1,19})(?:-(\d{1,19}))?", text.strip(), re.ASCII)
        least, most = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if least > most or most > INT64_MAX:
            raise InputError(
                f"--rates: found {text!r}, expected a whole number such as 10 or a "
                "range such as 8-19, lower end first; nothing was written"
            )
        return cls(least, most)

    def __str__(self) -> str:
        return (
            str(self.least) if self.least == self.most else f"{self.least}-{self.most}"
        )


@dataclass(frozen=True)
class Uniform:
    """The instances of Lambert and Sakellariou's experiments, of any size.

    Each of the subscribers wants `each` different topics, drawn uniformly; a topic's
    rate is drawn uniformly from `rates`.
    """

    topics: int
    subscribers: int
    each: int
    rates: RateRange

    def __post_init__(self) -> None:
        _check("--topics", self.topics, _MOST_TOPICS)
        _check("--subscribers", self.subscribers, _MOST_SUBSCRIBERS)
        _check("--each", self.each, self.topics, " (the number of topics)")
        if self.topics * self.rates.most > INT64_MAX:
            raise InputError(
                f"--rates: found {self.rates} for {self.topics:,} topics, expected a "
                f"total of at most {INT64_MAX:,}; nothing was written"
            )


def generate_uniform(
    trace: Uniform,
    seed: int,
    out: Place,
    *,
    progress: "Progress",
    force: bool = False,
) -> dict[str, Any]:
    """Write a uniform trace, in this process; returns its header."""
    with writing(out, force=force) as output:
        with progress.stage("rates"):
            rates = draw_rates(trace, seed)
            rate_files = write_rates(output, rates)
        with progress.stage("pairs"):
            pair_files = _write_all(trace, seed, output)
        return commit_trace(
            output,
            {
                "shape": "uniform",
                "each": trace.each,
                "rates": str(trace.rates),
                "seed": seed,
            },
            rates=rates,
            subscribers=trace.subscribers,
            pairs=trace.subscribers * trace.each,
            files={"pairs": pair_files, "rates": rate_files},
        )


def draw_rates(trace: Uniform, seed: int) -> Int64s:
    """The rates of topics 0, 1, ..."""
    return _random(seed, _RATES).integers(
        trace.rates.least, trace.rates.most, size=trace.topics, endpoint=True
    )


def pair_blocks(trace: Uniform, seed: int) -> Iterator[tuple[Int64s, Int64s]]:
    """Topics and subscribers of all pairs, about a million at a time."""
    bins = Bins.uniform(trace.topics)
    per_block = _subscribers_per_block(trace)
    for block, first in enumerate(range(0, trace.subscribers, per_block)):
        subscribers = np.arange(first, min(first + per_block, trace.subscribers))
        counts = np.full(len(subscribers), trace.each)
        random = _random(seed, _PAIRS, block)
        topics = bins.draw(counts, int(random.integers(2**63)))
        yield topics.astype(np.int64), np.repeat(subscribers, trace.each)


def _write_all(trace: Uniform, seed: int, output: Output) -> list[str]:
    per_file = max(1, PAIRS_PER_FILE // (_subscribers_per_block(trace) * trace.each))
    blocks = -(-trace.subscribers // _subscribers_per_block(trace))
    files = -(-blocks // per_file)
    stream = pair_blocks(trace, seed)
    names = []
    for number in range(files):
        name = part_name(output, number)
        write_pairs(output.root / "pairs" / name, islice(stream, per_file))
        names.append(name)
    return names


def _subscribers_per_block(trace: Uniform) -> int:
    return max(1, _PAIRS_PER_BLOCK // trace.each)


def _check(option: str, value: int, most: int, meaning: str = "") -> None:
    if not 1 <= value <= most:
        raise InputError(
            f"{option}: found {value:,}, expected a whole number "
            f"from 1 to {most:,}{meaning}; nothing was written"
        )


def _random(seed: int, *key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
