"""What logs come to, without Spark: for what has to be known while measuring."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from brokerwise.model.arrays import Int64s
from brokerwise.model.latency import LatencyRows
from brokerwise.storage.latency_data import LOGS
from brokerwise.storage.latency_logs import read_facts
from brokerwise.storage.place import Place
from brokerwise.storage.tables import read_columns

_Row = tuple[int, float, float, int, float, float, float]


def rows_of_logs(paths: Iterable[Path]) -> LatencyRows:
    """A row for each topic: what `pipeline.latency_logs` makes of the same logs."""
    rows = [row for path in paths for row in _rows(path)]
    columns = list(zip(*rows, strict=True)) or [()] * 7
    return LatencyRows(*map(np.array, columns))


def nearest_rank(latencies: Int64s) -> int:
    """The smallest that at least 90 % do not exceed."""
    rank = (9 * len(latencies) + 9) // 10
    return int(np.partition(latencies, rank - 1)[rank - 1])


def _rows(path: Path) -> Iterator[_Row]:
    facts = read_facts(path)
    table = read_columns(Place(str(path)), LOGS, exact=True)
    topic = table["topic"].to_numpy()
    seq, latency = table["seq"].to_numpy(), table["latency_ns"].to_numpy()
    for number, of in enumerate(facts.topics):
        own = latency[(topic == number) & (seq > of.warm_up)]
        yield (
            facts.configuration,
            of.processing_ms,
            of.rate_per_second,
            len(own),
            int(own.sum()) / len(own) / 1e6,
            nearest_rank(own) / 1e6,
            facts.cpu_share,
        )
