"""A series that has a configuration for each broker of a co-location plan."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from brokerwise.model.errors import InputError
from brokerwise.runtime.measuring.directory import Directory
from brokerwise.runtime.measuring.in_turn import Countdown, measure
from brokerwise.runtime.measuring.running import Cores
from brokerwise.runtime.measuring.series import Tell, load_settings
from brokerwise.runtime.measuring.settings import LEAST_MESSAGES, ROOM_SECONDS, Load
from brokerwise.runtime.measuring.trials import Trial
from brokerwise.storage.colocation_plan import StoredColocation
from brokerwise.storage.latency_logs import LoggedTopic


@dataclass(frozen=True)
class PlannedTopic:
    """A replica of a plan: `position` is its place among the topics of its broker."""

    name: str
    replica: int
    broker: int
    position: int
    processing_ms: float
    rate_per_second: float
    target_ms: float
    predicted_p90_ms: float


@dataclass(frozen=True)
class PlannedSeries:
    """The brokers of a plan, which is at `path`, in order."""

    stored: StoredColocation
    path: str
    load: Load
    cores: Cores
    seed: int

    def __post_init__(self) -> None:
        if not len(self.stored.plan.replicas):
            raise InputError(
                f"{self.path} is a plan without brokers: there is nothing to measure"
            )

    @property
    def wanted(self) -> int:
        return self.stored.plan.replicas.brokers

    def settings(self) -> dict[str, Any]:
        return {
            **load_settings(self.load, self.cores, self.seed),
            "plan": self.path,
            "plan_digest": self.stored.header.digest,
        }

    def findings(self, directory: Directory) -> dict[str, Any]:
        return {}

    async def run(self, directory: Directory, tell: Tell) -> None:
        countdown = Countdown(len(self.cores.broker))
        await measure(self.trials(), (), directory, self.cores, countdown, tell)

    def trials(self) -> list[Trial]:
        by_broker: list[list[LoggedTopic]] = [[] for _ in range(self.wanted)]
        for topic in self.topics:
            by_broker[topic.broker].append(publishing(topic, self.load))
        size, longest = self.load.message_bytes, self.load.longest
        return [
            Trial(number, tuple(topics), size, longest, self.seed)
            for number, topics in enumerate(by_broker)
        ]

    @cached_property
    def topics(self) -> list[PlannedTopic]:
        """By broker, then in the order of the plan: that of a log's rows."""
        replicas, table = self.stored.plan.replicas, self.stored.topics
        order = np.argsort(replicas.broker, kind="stable").tolist()
        found: list[PlannedTopic] = []
        for row in order:
            topic, broker = int(replicas.topic[row]), int(replicas.broker[row])
            follows = bool(found) and found[-1].broker == broker
            found.append(
                PlannedTopic(
                    name=table.names[topic],
                    replica=int(replicas.number[row]),
                    broker=broker,
                    position=found[-1].position + 1 if follows else 0,
                    processing_ms=float(table.processing_ms[topic]),
                    rate_per_second=float(replicas.rate_per_second[row]),
                    target_ms=float(table.target_ms[topic]),
                    predicted_p90_ms=float(replicas.predicted_p90_ms[row]),
                )
            )
        return found


def publishing(topic: PlannedTopic, load: Load) -> LoggedTopic:
    """Publishers that come to the topic's rate, each near the usual one.

    All topics of a broker send for about as long, so that they share it all the time:
    a slower publisher has fewer messages to send, but a few at least, as far as there
    is time for them.
    """
    publishers = max(1, round(topic.rate_per_second / load.rate_each))
    rate_each = topic.rate_per_second / publishers
    usual = round(load.messages * rate_each / load.rate_each)
    in_time = int(load.longest / ROOM_SECONDS * rate_each)
    messages = max(1, min(max(usual, LEAST_MESSAGES), in_time))
    return LoggedTopic(topic.processing_ms, publishers, rate_each, messages)
