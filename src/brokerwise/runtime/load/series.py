"""Series of trials: configurations that are drawn (topics alone, then topics that
share a broker), or those of a co-location plan; and the rows that their logs come to.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, zip_longest
from pathlib import Path
from statistics import median
from typing import Any, Protocol

import numpy as np

from brokerwise.latency.design import Configuration, Design, most_publishers, up_to_load
from brokerwise.model.arrays import Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.latency import LatencyRows
from brokerwise.runtime.load.measure import Cores, Countdown, Directory, Moment, measure
from brokerwise.runtime.load.trials import LEAST_MESSAGES, ROOM_SECONDS, Load, Trial
from brokerwise.storage.colocation_plan import StoredColocation
from brokerwise.storage.latency_data import (
    LOGS,
    LatencyHeader,
    LogFacts,
    LoggedTopic,
    all_facts,
    read_facts,
)
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


Tell = Callable[[Moment], None]


class Series(Protocol):
    """Configurations to measure one after the other."""

    @property
    def wanted(self) -> int:
        """How many there are."""
        ...

    def settings(self) -> dict[str, Any]:
        """All that decides what is measured, as latency data says it."""
        ...

    def findings(self, directory: Directory) -> dict[str, Any]:
        """What else is known, once there are logs."""
        ...

    async def run(self, directory: Directory, tell: Tell) -> None:
        """Measure what has no log yet. Cancelling it loses the configuration that is
        under way. Raises TrialError for one that cannot be measured."""


def load_settings(load: Load, cores: Cores, seed: int) -> dict[str, Any]:
    return {
        "cores": len(cores.broker),
        "broker_cores": list(cores.broker),
        "messages": load.messages,
        "message_bytes": load.message_bytes,
        "rate_each": load.rate_each,
        "longest_seconds": load.longest,
        "seed": seed,
    }


def commit_series(
    series: Series, directory: Directory, rows: LatencyRows, machine: Mapping[str, Any]
) -> LatencyHeader:
    """Let the rows of all complete logs appear, with what is known of them."""
    facts = list(all_facts(directory.logs))
    settings = {**series.settings(), **series.findings(directory), **quality(facts)}
    seconds = round(sum(one.seconds for one in facts), 3)
    header = {"settings": settings, "machine": machine, "seconds": seconds}
    return directory.commit(rows, header)


def quality(facts: list[LogFacts]) -> dict[str, Any]:
    """What should be known before rows are trusted.

    `censored` configurations did not come to their end: their percentiles are lower
    bounds. In `late` ones messages were not sent at their time. `others_share` is what
    other processes took of the broker's cores: its median, and the most. `nice` is
    that of the broker.
    """
    others = [one.others_share for one in facts]
    return {
        "censored": [one.configuration for one in facts if one.is_censored],
        "late": [one.configuration for one in facts if one.is_late],
        "nice": max(one.nice for one in facts),
        "others_share": [round(median(others), 4), round(max(others), 4)],
    }


Most = Mapping[float, int]


@dataclass(frozen=True)
class DrawnSeries:
    """The trials of a design, numbered by k, so that a number says which it is; with
    which load, and where the broker runs."""

    design: Design
    load: Load
    cores: Cores

    @property
    def wanted(self) -> int:
        return len(self.design.topics) * self.design.each

    def settings(self) -> dict[str, Any]:
        design = self.design
        return {
            **load_settings(self.load, self.cores, design.seed),
            "k": list(design.topics),
            "configurations": design.each,
            "processing_ms": list(design.processing),
            "draw": design.way,
            "target_ms": design.target_ms,
        }

    def findings(self, directory: Directory) -> dict[str, Any]:
        """By processing time, the most publishers that meet the target alone; none if
        that was not measured, or is not so for any number of them."""
        found: dict[float, int] = {}
        rows = self._rows_alone(directory)
        if rows is not None:
            with suppress(InputError):
                found = self.meeting(rows)
        return {"most_publishers": {f"{p:g}": n for p, n in found.items()}}

    async def run(self, directory: Directory, tell: Tell) -> None:
        cores, countdown = self.cores, Countdown(len(self.cores.broker))
        alone = self.alone()
        likely = self.sharing(self.most(None))  # as far as one can know before
        await measure(alone, likely, directory, cores, countdown, tell)
        sharing = self.sharing(self.most(self._rows_alone(directory)))
        await measure(sharing, alone, directory, cores, countdown, tell)

    def alone(self) -> list[Trial]:
        """Topics alone on their broker, over a grid of processing times and
        publishers, up to a little more than a core can do."""
        if 1 not in self.design.topics:
            return []
        return self._trials(1, self.design.alone(self.load.rate_each))

    def meeting(self, rows: LatencyRows) -> dict[float, int]:
        """The most publishers with which topics meet the target alone, by those
        processing times that there are rows of."""
        rate_each = self.load.rate_each
        return most_publishers(rows, self.design.target_ms, rate_each=rate_each)

    def most(self, rows: LatencyRows | None) -> dict[float, int]:
        """The most publishers that a topic which shares its broker has: those with
        which it meets the target alone. What was not measured alone may have as many
        as one core has time for."""
        rate_each = self.load.rate_each
        found = up_to_load(1.0, processing=self.design.processing, rate_each=rate_each)
        return found if rows is None else found | self.meeting(rows)

    def sharing(self, most: Most) -> list[Trial]:
        """Topics that share their broker. Each k has its turn, so that what is there
        after an interruption has some of each."""
        lists = [
            self._trials(k, self._drawn(k, most)) for k in self.design.topics if k > 1
        ]
        rounds = chain.from_iterable(zip_longest(*lists))
        return [trial for trial in rounds if trial is not None]

    def _rows_alone(self, directory: Directory) -> LatencyRows | None:
        """Rows of the topics alone, once they are all there."""
        numbers = [trial.number for trial in self.alone()]
        complete = directory.complete()
        if not numbers or any(number not in complete for number in numbers):
            return None
        return rows_of_logs(complete[number] for number in numbers)

    def _drawn(self, k: int, most: Most) -> list[Configuration]:
        rate_each, cores = self.load.rate_each, len(self.cores.broker)
        return self.design.sharing(k, most, rate_each=rate_each, cores=cores)

    def _trials(self, k: int, drawn: Sequence[Configuration]) -> list[Trial]:
        first = self.design.topics.index(k) * self.design.each
        return [
            Trial(
                number=first + i,
                topics=self._topics(configuration),
                message_bytes=self.load.message_bytes,
                longest=self.load.longest,
                seed=self.design.seed,
            )
            for i, configuration in enumerate(drawn)
        ]

    def _topics(self, drawn: Configuration) -> tuple[LoggedTopic, ...]:
        rate_each, messages = self.load.rate_each, self.load.messages
        pairs = zip(drawn.processing_ms, drawn.publishers, strict=True)
        return tuple(LoggedTopic(p, n, rate_each, messages) for p, n in pairs)


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
