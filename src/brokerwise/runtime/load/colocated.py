"""A co-location plan on the fleet that runs it: all brokers at the same time."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.model.latency import LatencyRows
from brokerwise.runtime.fleet.files import FleetFile
from brokerwise.runtime.load.measure import generate, trial_task
from brokerwise.runtime.load.series import PlannedTopic, publishing, rows_of_logs
from brokerwise.runtime.load.trials import Load, Trial
from brokerwise.runtime.process.cpu_time import TICK_SECONDS, process_seconds
from brokerwise.storage.latency_data import LOGS, LogFacts, read_facts
from brokerwise.storage.place import Place
from brokerwise.storage.tables import read_columns


@dataclass(frozen=True)
class PlanMeasurement:
    """What was measured: a row a topic, in the order that they were given in, those of
    a broker under its number; and how many of its messages were over its target."""

    rows: LatencyRows
    over: tuple[int, ...]
    facts: LogFacts


async def measure_at_once(
    fleet: FleetFile,
    topics: Sequence[PlannedTopic],
    names: Sequence[str],
    pids: Sequence[int],
    load: Load,
    seed: int,
) -> PlanMeasurement:
    """Send to all topics of a plan at their rates, and wait for every message.

    `topics` are by broker; `names` are what they are called in the fleet, `pids` the
    processes of the brokers. Raises BrokerwiseError. Cancelling it ends what it
    started.
    """
    trial = Trial(
        0,
        tuple(publishing(topic, load) for topic in topics),
        load.message_bytes,
        load.longest,
        seed,
    )
    with tempfile.TemporaryDirectory(prefix="brokerwise-replay-") as scratch:
        log = Path(scratch) / "log.parquet"
        before = _used(pids)
        await generate(trial_task(trial, fleet, names, log, user_prefix="replay-"))
        facts = read_facts(log)
        shares = (_used(pids) - before) / facts.seconds
        rows = rows_of_logs([log])
        return PlanMeasurement(
            _by_broker(rows, topics, shares), _over(log, topics, trial), facts
        )


def _used(pids: Sequence[int]) -> Float64s:
    """CPU seconds of brokers, with their workers."""
    return np.array([process_seconds(pid) for pid in pids])


def _by_broker(
    rows: LatencyRows, topics: Sequence[PlannedTopic], shares: Float64s
) -> LatencyRows:
    brokers = np.array([topic.broker for topic in topics], np.int64)
    share = np.maximum(shares[brokers], TICK_SECONDS)
    return replace(rows, configuration=brokers, cpu_share=share)


def _over(log: Path, topics: Sequence[PlannedTopic], trial: Trial) -> tuple[int, ...]:
    """Messages later than their topic's target, those of the warm-up left out."""
    table = read_columns(Place(str(log)), LOGS, exact=True)
    topic: Int64s = table["topic"].to_numpy().astype(np.int64)
    targets = np.array([one.target_ms for one in topics])
    warm_up = np.array([one.warm_up for one in trial.topics])
    late = table["latency_ns"].to_numpy() > targets[topic] * 1e6
    counted = table["seq"].to_numpy() > warm_up[topic]
    found = np.bincount(topic[late & counted], minlength=len(topics))
    return tuple(found.tolist())
