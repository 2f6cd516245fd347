"""What is measured: a configuration, and all that decides what happens to it."""

from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.storage.latency_logs import LoggedTopic

_SPREAD = 1.25  # the last publisher is done so much later than the mean one
_AROUND_SECONDS = 2.0  # to start a fleet, connect everyone, and end it all


@dataclass(frozen=True)
class Trial:
    """One configuration, to be measured once. Waiting for the last message ends
    `longest` seconds after the first."""

    number: int
    topics: tuple[LoggedTopic, ...]
    message_bytes: int
    longest: float
    seed: int

    @property
    def total(self) -> int:
        """Messages of all publishers."""
        return sum(topic.total for topic in self.topics)

    def expected_seconds(self, cores: int) -> float:
        """About how long it takes, with all around it."""
        sending = max(topic.messages / topic.rate_each for topic in self.topics)
        load = sum(t.processing_ms * t.rate_per_second for t in self.topics) / 1000
        backlog = max(0.0, load / cores - 1) * sending
        return min(_SPREAD * sending + backlog, self.longest) + _AROUND_SECONDS


@dataclass(frozen=True, eq=False, repr=False)
class Schedule:
    """When each message is due, in order of time: nanoseconds since the start."""

    due: Int64s
    topic: Int64s
    publisher: Int64s
    seq: Int64s

    def __len__(self) -> int:
        return len(self.due)


def schedule(trial: Trial) -> Schedule:
    """Every publisher sends by itself, with gaps that are exponential: whatever the
    broker does, messages come at these times. The same trial has the same schedule."""
    parts = [_of_topic(trial, number) for number in range(len(trial.topics))]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    return Schedule(*(column[order] for column in columns))


def _of_topic(trial: Trial, number: int) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    topic = trial.topics[number]
    shape = (topic.publishers, topic.messages)
    random = np.random.default_rng([trial.seed, trial.number, number])
    gaps: Float64s = random.exponential(1e9 / topic.rate_each, shape)
    publisher, seq = np.indices(shape)
    due = np.cumsum(gaps, axis=1).astype(np.int64)
    ones = np.ones(due.size, np.int64)
    return due.ravel(), number * ones, publisher.ravel(), seq.ravel() + 1
