"""Which configurations latency data is made of: topics that share a broker, drawn by a
seed, and how many of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Bools, Float64s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.latency import LatencyRows

_UNIFORM, _LOADED = 1, 2  # which random numbers of a seed

PAPER, LOADED, MIXED = WAYS = ("paper", "loaded", "mixed")
"""As `draw` does, as `draw_loaded` does, or both in turn."""

MOST_LOAD = 1.1
"""Of one topic alone, as a share of the core that its worker can use."""

_MOST_TOPICS = 32


@dataclass(frozen=True)
class Configuration:
    """Topics that share one broker for a while.

    Attributes
    ----------
    processing_ms
        Processor time of one message, by topic.
    publishers
        How many publishers each topic has. All publishers send at the same rate:
        the caller that runs the configuration says at which.
    """

    processing_ms: tuple[float, ...]
    publishers: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.publishers or len(self.processing_ms) != len(self.publishers):
            raise InputError(
                f"a configuration: found {len(self.processing_ms)} processing times "
                f"and {len(self.publishers)} numbers of publishers, expected one of "
                "each for every topic"
            )
        if min(self.processing_ms) <= 0 or min(self.publishers) < 1:
            raise InputError(f"{self}: expected numbers above 0")

    def __len__(self) -> int:
        return len(self.publishers)

    def load(self, rate_each: float) -> float:
        """Cores that processing alone keeps busy."""
        pairs = zip(self.processing_ms, self.publishers, strict=True)
        return sum(p * n for p, n in pairs) * rate_each / 1000


def draw(
    count: int,
    k: int,
    *,
    processing: Sequence[float],
    most: Mapping[float, int] | Sequence[int],
    seed: int,
) -> list[Configuration]:
    """`count` configurations of `k` topics, as Khare et al. (2018) drew theirs.

    Each topic's processing time is one of `processing`, and its number of publishers
    is from 1 to `most` of that time, all equally likely. With k = 1 nothing is
    left to chance: see `grid`. A longer list begins with the shorter one.

    Parameters
    ----------
    most
        Largest number of publishers, by processing time, or in the order of
        `processing`: see `most_publishers` and `up_to_load`.
    """
    times, limits = _checked(count, k, processing, most)
    if k == 1:
        return grid(count, processing=times.tolist(), most=limits.tolist())
    random = np.random.default_rng([seed, k, _UNIFORM]).random((count, k, 2))
    picks = (random[:, :, 0] * len(times)).astype(np.int64)
    publishers = 1 + (random[:, :, 1] * limits[picks]).astype(np.int64)
    return _configurations(times[picks], publishers)


def draw_loaded(
    count: int,
    k: int,
    *,
    processing: Sequence[float],
    rate_each: float,
    load: tuple[float, float] = (0.2, 1.1),
    cores: int = 1,
    seed: int,
) -> list[Configuration]:
    """`count` configurations whose total load lies anywhere in a range.

    The load, as a share of the broker's `cores` (or of k of them, if there are more:
    a topic can use one), is uniform in the range `load`; the topics' shares of it are
    uniform among all that add up to 1. So the knee, where latencies begin to grow, is
    met as often for every k; `draw` overloads most of its configurations when there are
    more topics than cores. Publishers are whole and at least 1, so the load of a
    configuration differs a little from the one that was drawn.
    """
    times, _ = _checked(count, k, processing, [1] * len(processing))
    _check_load(load, rate_each, cores)
    random = np.random.default_rng([seed, k, _LOADED]).random((count, 1 + 2 * k))
    total = (load[0] + (load[1] - load[0]) * random[:, :1]) * min(cores, k)
    picked = times[(random[:, 1 : k + 1] * len(times)).astype(np.int64)]
    shares = -np.log1p(-random[:, k + 1 :])
    shares /= shares.sum(axis=1, keepdims=True)
    publishers = np.rint(total * shares * 1000 / (picked * rate_each))
    return _configurations(picked, np.maximum(publishers, 1).astype(np.int64))


def grid(
    count: int,
    *,
    processing: Sequence[float],
    most: Mapping[float, int] | Sequence[int],
) -> list[Configuration]:
    """`count` configurations of one topic, spread evenly.

    Processing times take turns. For each of them the numbers of publishers are met in
    an order that halves the largest gaps first, and over again once all were met.
    """
    times, limits = _checked(count, 1, processing, most)
    orders = [_spread(limit) for limit in limits.tolist()]
    found = []
    for i in range(count):
        turn, which = divmod(i, len(orders))
        order = orders[which]
        found.append(Configuration((float(times[which]),), (order[turn % len(order)],)))
    return found


def up_to_load(
    load: float, *, processing: Sequence[float], rate_each: float
) -> dict[float, int]:
    """For each processing time, the most publishers of one topic whose load is no more
    than this share of a core: a topic has one worker, however many cores there are."""
    _check_load((load, load), rate_each, 1)
    return {
        p: max(1, int(load * 1000 / (p * rate_each) + 1e-9))
        for p in _times(processing).tolist()
    }


def most_publishers(
    rows: LatencyRows, target_ms: float, *, rate_each: float
) -> dict[float, int]:
    """For each processing time, the most publishers of a topic that meets the target
    when it is alone on its broker.

    Among the numbers that were seen, it is the one that agrees with most rows: those
    with as many publishers or fewer meet the target, those with more miss it. So one
    row that was disturbed makes no difference. Raises InputError if a processing time
    meets the target with no number of publishers.
    """
    alone = rows.take(np.flatnonzero(rows.sharing() == 1))
    if not len(alone):
        raise InputError("latency rows: found none of a topic alone on its broker")
    publishers = np.rint(alone.rate_per_second / rate_each).astype(np.int64)
    found = {}
    for p in np.unique(alone.processing_ms).tolist():
        of = alone.processing_ms == p
        found[p] = _threshold(publishers[of], alone.p90_ms[of] <= target_ms)
        if not found[p]:
            raise InputError(
                f"a topic of {p:g} ms alone on its broker: its p90 is above the "
                f"target of {target_ms:g} ms at every rate",
                hint="Choose a higher target, have more configurations, or leave this "
                "processing time out.",
            )
    return found


def _threshold(publishers: Int64s, met: Bools) -> int:
    """The least number that agrees with most: met up to it, missed above; or 0."""
    candidates = np.unique(np.append(publishers, 0))
    below = publishers[None, :] <= candidates[:, None]
    agrees = (below == met[None, :]).sum(axis=1)
    return int(candidates[np.argmax(agrees)])


def _spread(limit: int) -> list[int]:
    """1 to `limit` such that the first so many lie evenly: both ends, then halves."""
    order = [limit, 1] if limit > 1 else [1]
    seen = set(order)
    parts = 1
    while len(order) < limit:
        parts *= 2
        for i in range(1, parts, 2):
            at = 1 + round((limit - 1) * i / parts)
            if at not in seen:
                seen.add(at)
                order.append(at)
    return order


def _checked(
    count: int,
    k: int,
    processing: Sequence[float],
    most: Mapping[float, int] | Sequence[int],
) -> tuple[Float64s, Int64s]:
    """Processing times, and the most publishers of each."""
    if count < 0 or k < 1:
        raise InputError(
            f"configurations to draw: found {count:,} of {k} topics, "
            "expected at least 0 of at least 1"
        )
    times = _times(processing)
    if isinstance(most, Mapping):
        missing = [p for p in times.tolist() if p not in most]
        if missing:
            raise InputError(
                f"most publishers: found none for processing of {missing[0]:g} ms"
            )
        most = [most[p] for p in times.tolist()]
    if len(most) != len(times) or min(most) < 1:
        raise InputError(
            f"most publishers: found {list(most)}, expected a number from 1 for each "
            f"of {len(times)} processing times"
        )
    return times, np.array(most, np.int64)


def _times(processing: Sequence[float]) -> Float64s:
    times = np.array(processing, np.float64)
    if not len(times) or not (np.isfinite(times) & (times > 0)).all():
        raise InputError(
            f"processing times: found {list(processing)}, expected ms above 0"
        )
    return times


def _check_load(load: tuple[float, float], rate_each: float, cores: int) -> None:
    if not 0 < load[0] <= load[1] < np.inf or cores < 1 or not rate_each > 0:
        raise InputError(
            f"load: found {load[0]:g} to {load[1]:g} of {cores} cores at {rate_each:g} "
            "messages/s of a publisher, expected numbers above 0, the smaller first"
        )


def _configurations(processing: Float64s, publishers: Int64s) -> list[Configuration]:
    rows = zip(processing.tolist(), publishers.tolist(), strict=True)
    return [Configuration(tuple(p), tuple(n)) for p, n in rows]


@dataclass(frozen=True)
class Design:
    """Configurations of several numbers of topics.

    Attributes
    ----------
    topics
        Numbers of topics, ascending.
    each
        Configurations of each of them.
    processing
        The processing times (ms) that topics may have.
    way
        One of WAYS; topics alone are always on a grid.
    target_ms
        Sets how many publishers topics of PAPER have at most: as many as meet this
        target when the topic is alone.
    """

    topics: tuple[int, ...]
    each: int
    processing: tuple[float, ...]
    way: str = MIXED
    target_ms: float = 250.0
    seed: int = 0

    def __post_init__(self) -> None:
        if (
            not self.topics
            or not 1 <= min(self.topics) <= max(self.topics) <= _MOST_TOPICS
        ):
            raise InputError(
                f"topics of a configuration: found {list(self.topics)}, expected "
                f"numbers from 1 to {_MOST_TOPICS}"
            )
        if self.each < 1:
            raise InputError(f"configurations: found {self.each}, expected at least 1")
        if self.way not in WAYS:
            raise InputError(
                f"way to draw: found {self.way!r}, expected {', '.join(WAYS)}"
            )
        if not 0 < self.target_ms < np.inf:
            raise InputError(
                f"target: found {self.target_ms:g} ms, expected a number above 0"
            )

    def alone(self, rate_each: float) -> list[Configuration]:
        """One topic, from hardly any load to more than its worker can do."""
        most = up_to_load(MOST_LOAD, processing=self.processing, rate_each=rate_each)
        return draw(self.each, 1, processing=self.processing, most=most, seed=self.seed)

    def sharing(
        self, k: int, most: Mapping[float, int], *, rate_each: float, cores: int
    ) -> list[Configuration]:
        """Configurations of k topics, no topic of which has more publishers than
        `most` allows in the paper's way."""
        drawn = draw(
            self.each, k, processing=self.processing, most=most, seed=self.seed
        )
        loaded = draw_loaded(
            self.each,
            k,
            processing=self.processing,
            rate_each=rate_each,
            cores=cores,
            seed=self.seed,
        )
        if self.way == MIXED:
            return list(_in_turn(drawn, loaded))
        return drawn if self.way == PAPER else loaded


def _in_turn(
    first: list[Configuration], second: list[Configuration]
) -> Iterator[Configuration]:
    for i in range(len(first)):
        yield (second if i % 2 else first)[i // 2]
