"""Latencies of configurations, simulated: publishers, a broker of a few cores, and what
a message costs it beside its processing.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from math import isfinite

import numpy as np

from brokerwise.kernels.latency_queue import DELIVER, RECEIVE, WORK, serve
from brokerwise.latency.design import Configuration
from brokerwise.model.arrays import Bools, Float64s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.latency import LatencyRows

WARM_UP = 5
"""One in this many messages of a publisher, the first ones, is not counted."""


@dataclass(frozen=True)
class Overhead:
    """What a message costs beside its processing; what calibration finds out.

    Attributes
    ----------
    receive_ms, deliver_ms
        Processor time of the broker's own loop: before the step, which includes
        handing the message to the worker, and after it.
    subscriber_ms
        Processor time of the loop for each subscriber of the topic after the first.
    worker_ms
        Processor time of the worker beside the processing itself.
    factor
        What processing takes over what it is meant to take.
    path_ms
        Time on the way that keeps no core of the broker busy.
    lost
        Share of the cores that is lost while more processes are busy than there are
        cores: they take turns, and turns cost.
    """

    receive_ms: float = 0.07
    deliver_ms: float = 0.07
    subscriber_ms: float = 0.006
    worker_ms: float = 0.08
    factor: float = 1.02
    path_ms: float = 0.8
    lost: float = 0.004

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not (isfinite(value) and value >= 0):
                raise InputError(
                    f"{field.name} of the overhead: found {value:g}, expected a "
                    "number, 0 or more"
                )
        if self.factor == 0 or self.lost >= 1:
            raise InputError(
                f"the overhead: found a factor of {self.factor:g} and a lost share of "
                f"{self.lost:g}, expected one above 0 and one below 1"
            )

    def as_json(self) -> dict[str, float]:
        return asdict(self)

    @classmethod
    def parse(cls, text: str) -> "Overhead":
        """`receive_ms=0.2,factor=1.1`: what is not named is as by default."""
        return cls(**dict(_parts(text)))


TYPICAL = Overhead()
"""What is taken unless told otherwise."""

NONE = Overhead(0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0)
"""A broker that costs nothing."""


def _parts(text: str) -> Iterator[tuple[str, float]]:
    known = [field.name for field in fields(Overhead)]
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = part.partition("=")
        try:
            number = float(value)
        except ValueError:
            number = None
        if name.strip() not in known or number is None:
            raise InputError(
                f"overhead: found {part!r}, expected NAME=NUMBER",
                details=[f"names: {', '.join(known)}"],
            )
        yield name.strip(), number


@dataclass(frozen=True)
class Run:
    """How each configuration is run.

    Attributes
    ----------
    rate_each
        Messages a second of one publisher; gaps are exponential.
    messages
        That each publisher sends.
    cores
        Of the broker, for its loop and its workers.
    longest_seconds
        When a configuration is ended that is not done. A message that has not been
        delivered counts with the time that it has waited until then.
    """

    rate_each: float
    messages: int = 80
    cores: int = 1
    overhead: Overhead = TYPICAL
    seed: int = 0
    longest_seconds: float = np.inf

    def __post_init__(self) -> None:
        if not (0 < self.rate_each < np.inf and self.longest_seconds > 0):
            raise InputError(
                f"a run: found {self.rate_each:g} messages/s of a publisher for "
                f"{self.longest_seconds:g} s, expected numbers above 0"
            )
        if self.messages < 1 or self.cores < 1 or self.seed < 0:
            raise InputError(
                f"a run: found {self.messages} messages of a publisher, {self.cores} "
                f"cores, seed {self.seed}; expected at least 1, 1 and 0"
            )


@dataclass(frozen=True, eq=False, repr=False)
class Traffic:
    """When each message is sent (ms, ascending), of which topic, whether it counts."""

    sent: Float64s
    topics: Int64s
    counted: Bools


@dataclass(frozen=True, eq=False)
class Outcome:
    """Rows, and of each the share of its messages that were later than the target."""

    rows: LatencyRows
    over: Float64s


def simulate(
    configurations: Sequence[Configuration],
    *,
    rate_each: float,
    cores: int = 1,
    messages: int = 80,
    overhead: Overhead,
    seed: int = 0,
    longest_seconds: float = np.inf,
) -> LatencyRows:
    """Run each configuration on a broker of its own; see `Run`.

    The 90th percentile of a topic is by nearest rank, over all its messages but the
    first fifth of each publisher's. A backlog counts to its end. `cpu_share` is what
    was used of the cores from the start to the last delivery.
    """
    run = Run(rate_each, messages, cores, overhead, seed, longest_seconds)
    return simulate_targets(configurations, run).rows


def simulate_targets(
    configurations: Sequence[Configuration],
    run: Run,
    *,
    numbers: Sequence[int] | None = None,
    target_ms: float = np.inf,
    subscribers: Sequence[int] = (),
) -> Outcome:
    """The same, and how many messages were later than `target_ms`.

    Parameters
    ----------
    numbers
        Of the configurations; from 0 if they are not given. Times of sending depend
        on seed, number and topic alone, and are those of a measurement with the same.
    subscribers
        How many each topic has, the same for all configurations; one if they are not
        given. A message is delivered when its last subscriber has it.
    """
    if numbers is None:
        numbers = range(len(configurations))
    found = [
        _simulated(configuration, run, number, target_ms, subscribers)
        for configuration, number in zip(configurations, numbers, strict=True)
    ]
    sizes = [len(configuration) for configuration in configurations]
    figures = np.array([row for rows in found for row in rows]).reshape(-1, 5)
    return Outcome(
        LatencyRows(
            configuration=np.repeat(np.array(numbers, np.int64), sizes),
            processing_ms=_flat(c.processing_ms for c in configurations),
            rate_per_second=run.rate_each * _flat(c.publishers for c in configurations),
            messages=figures[:, 0].astype(np.int64),
            mean_ms=figures[:, 1],
            p90_ms=figures[:, 2],
            cpu_share=figures[:, 3],
        ),
        figures[:, 4],
    )


def p90(values: Float64s) -> float:
    """The smallest of the values that at least 90 % do not exceed."""
    rank = -(-9 * len(values) // 10)
    return float(np.partition(values, rank - 1)[rank - 1])


def _simulated(
    configuration: Configuration,
    run: Run,
    number: int,
    target_ms: float,
    subscribers: Sequence[int],
) -> list[tuple[float, ...]]:
    """Of each topic: messages, mean, p90, share of the cores, share over the target."""
    traffic = traffic_of(configuration, run, number)
    found, share = latencies(configuration, traffic, run, subscribers)
    return [
        (len(of), float(of.mean()), p90(of), share, float(np.mean(of > target_ms)))
        for of in found
    ]


def traffic_of(configuration: Configuration, run: Run, number: int) -> Traffic:
    """What the publishers of a configuration of this number send."""
    gap = 1000 / run.rate_each
    times, counts = [], []
    for topic, publishers in enumerate(configuration.publishers):
        random = np.random.default_rng([run.seed, number, topic])
        gaps = random.exponential(gap, (publishers, run.messages))
        times.append(np.cumsum(gaps, axis=1).ravel())
        counts.append(publishers * run.messages)
    topics = np.repeat(np.arange(len(configuration)), counts)
    late = np.arange(run.messages) >= run.messages // WARM_UP
    counted = np.tile(late, sum(configuration.publishers))
    sent = np.concatenate(times)
    counted &= sent < run.longest_seconds * 1000
    order = np.argsort(sent, kind="stable")
    return Traffic(sent[order], topics[order], counted[order])


def latencies(
    configuration: Configuration,
    traffic: Traffic,
    run: Run,
    subscribers: Sequence[int] = (),
) -> tuple[list[Float64s], float]:
    """For each topic the latencies (ms) that count, and what was used of the cores."""
    sent, topics, lost = traffic.sent, traffic.topics, run.overhead.lost
    until = 1000.0 * run.longest_seconds
    delivered = np.full(len(sent), until)
    costs = costs_of(configuration, run.overhead, subscribers)
    used, end = serve(sent, topics, costs, float(run.cores), lost, until, delivered)
    all_of_them = delivered - sent + run.overhead.path_ms
    found = []
    for topic in range(len(configuration)):
        of = all_of_them[traffic.counted & (topics == topic)]
        if not len(of):
            raise InputError(
                f"a run of {run.longest_seconds:g} s: found no message of a topic that "
                "counts, expected at least one",
                hint="Let it run longer: the first messages do not count.",
            )
        found.append(of)
    return found, used / (run.cores * end)


def costs_of(
    configuration: Configuration, overhead: Overhead, subscribers: Sequence[int] = ()
) -> Float64s:
    """What the kernel wants to know: processor time of a message by step and topic."""
    costs = np.empty((3, len(configuration)))
    costs[RECEIVE] = overhead.receive_ms
    costs[WORK] = np.array(configuration.processing_ms) * overhead.factor
    costs[WORK] += overhead.worker_ms
    costs[DELIVER] = overhead.deliver_ms
    if len(subscribers):
        more = np.array(subscribers[: len(configuration)]) - 1
        costs[DELIVER] += overhead.subscriber_ms * more
    return costs


def _flat(columns: Iterable[Sequence[float]]) -> Float64s:
    return np.array([value for column in columns for value in column], np.float64)
