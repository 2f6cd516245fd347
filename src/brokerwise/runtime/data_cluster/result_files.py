"""The files of results: those of one run in one file, a line of JSON each, in the order
of subscriptions and within one of their text. No SQL but at the start."""

import os
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from brokerwise.runtime.data_cluster.store import RESULTS, Store
from brokerwise.runtime.process.state_file import sync

# A row of `results` names at most so many bytes (or one result), so that to read on
# in the middle of many results is cheap.
STRETCH_BYTES = 256 << 10
_UNFINISHED = ".new"


@dataclass(frozen=True)
class Stretch:
    """Results of a subscription, in a run's file. `offset` of them come before, in the
    same run."""

    subscription: int
    offset: int
    count: int
    start: int
    length: int


@dataclass(frozen=True)
class Written:
    """The file of a run's results, '' without any."""

    file: str = ""
    rows: int = 0
    bytes: int = 0
    stretches: tuple[Stretch, ...] = ()

    def subscriptions(self) -> tuple[int, ...]:
        """Those that have results, in order."""
        return tuple(s.subscription for s in self.stretches if s.offset == 0)


def write_results(store: Store, name: str, results: pa.Table) -> Written:
    """Put results (subscription, data), sorted, on the disk, in a file whose name
    begins with this one. Any thread may call it. A file that is never committed is
    removed at the next start."""
    if not len(results):
        return Written()
    name = f"{name}-{secrets.token_hex(4)}.ndjson"
    text, stretches = _laid_out(results)
    path = store.result_path(name)
    new = path.with_name(name + _UNFINISHED)
    with new.open("wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)
    sync(path.parent)
    return Written(name, len(results), len(text), stretches)


def remove_files(store: Store, files: Sequence[str]) -> None:
    for file in files:
        store.result_path(file).unlink(missing_ok=True)


def remove_leftovers(store: Store) -> int:
    """Files of results that no run names, which a crash has left. Only at the start:
    a run under way has one. How many."""
    named = {file for (file,) in store.sql.execute("SELECT file FROM runs")}
    found = [path.name for path in (store.directory / RESULTS).iterdir()]
    left = [name for name in found if name not in named]
    remove_files(store, left)
    return len(left)


def _laid_out(results: pa.Table) -> tuple[memoryview, tuple[Stretch, ...]]:
    """The text of the file, and where each subscription's results are in it."""
    lines = pc.binary_join_element_wise(results["data"], "", "\n").combine_chunks()
    if isinstance(lines, pa.ChunkedArray):
        lines = pa.concat_arrays(lines.chunks)
    ends = np.cumsum(pc.binary_length(lines).to_numpy().astype(np.int64))
    first = int(np.frombuffer(lines.buffers()[1], np.int32)[lines.offset])
    text = memoryview(lines.buffers()[2])[first : first + int(ends[-1])]
    return text, tuple(_stretches(results["subscription"].to_numpy(), ends))


def _stretches(subscriptions: np.ndarray, ends: np.ndarray) -> Iterator[Stretch]:
    """`ends` are those of the lines, in bytes."""
    edges = np.flatnonzero(np.diff(subscriptions)) + 1
    firsts = [0, *edges.tolist()]
    for first, last in zip(firsts, [*firsts[1:], len(ends)], strict=True):
        begin = first
        while begin < last:
            start = int(ends[begin - 1]) if begin else 0
            fitting = int(np.searchsorted(ends, start + STRETCH_BYTES, "right"))
            stop = min(last, max(begin + 1, fitting))
            length = int(ends[stop - 1]) - start
            number = int(subscriptions[first])
            yield Stretch(number, begin - first, stop - begin, start, length)
            begin = stop
