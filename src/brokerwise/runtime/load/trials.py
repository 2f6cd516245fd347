"""One trial: the topics that share a broker, and when each message is due."""

from dataclasses import dataclass
from math import isfinite

import numpy as np

from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.runtime.protocol.limits import MAX_FRAME_BYTES
from brokerwise.storage.latency_data import LoggedTopic

LEAST_MESSAGES = 10  # of a publisher, of which the first fifth does not count
MOST_BYTES = MAX_FRAME_BYTES // 2
ROOM_SECONDS = 1.5  # times what sending takes on average: waiting lasts at least that


@dataclass(frozen=True)
class Load:
    """Messages of each publisher, their size, their rate; and how many seconds after
    the first message waiting for the last one ends."""

    messages: int = 80
    message_bytes: int = 4096
    rate_each: float = 4.0
    longest: float = 60.0

    def __post_init__(self) -> None:
        _expect(
            self.messages >= LEAST_MESSAGES,
            f"--messages: found {self.messages:,}, expected at least {LEAST_MESSAGES}",
        )
        _expect(
            2 <= self.message_bytes <= MOST_BYTES,
            f"--message-bytes: found {self.message_bytes:,}, expected from 2 to "
            f"{MOST_BYTES:,}",
        )
        _expect(
            isfinite(self.rate_each) and self.rate_each > 0,
            f"--rate-each: found {self.rate_each:g}, expected messages a second, "
            "above 0",
        )
        least = ROOM_SECONDS * self.messages / self.rate_each
        _expect(
            isfinite(self.longest) and self.longest >= least,
            f"--longest: found {self.longest:g} s, expected at least {least:g}: "
            f"{self.messages:,} messages at {self.rate_each:g}/s take about "
            f"{self.messages / self.rate_each:g}",
        )


def _expect(right: bool, message: str) -> None:
    if not right:
        raise InputError(message)


_SPREAD = 1.25  # when the last publisher is done, relative to the mean one
_AROUND_SECONDS = 2.0  # to start a fleet, connect all users, and end it all


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
class SendSchedule:
    """When each message is due, in order of time: nanoseconds since the start."""

    due: Int64s
    topic: Int64s
    publisher: Int64s
    seq: Int64s


def send_schedule(trial: Trial) -> SendSchedule:
    """Publishers are independent, with exponential gaps (an open loop): messages come
    at these times, also if the broker is slow. The same trial has the same times."""
    parts = [_of_topic(trial, number) for number in range(len(trial.topics))]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    return SendSchedule(*(column[order] for column in columns))


def _of_topic(trial: Trial, number: int) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    topic = trial.topics[number]
    shape = (topic.publishers, topic.messages)
    random = np.random.default_rng([trial.seed, trial.number, number])
    gaps: Float64s = random.exponential(1e9 / topic.rate_each, shape)
    publisher, seq = np.indices(shape)
    due = np.cumsum(gaps, axis=1).astype(np.int64)
    ones = np.ones(due.size, np.int64)
    return due.ravel(), number * ones, publisher.ravel(), seq.ravel() + 1
