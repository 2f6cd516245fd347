"""A network: users who publish and subscribe, brokers, and what links between them
cost.

People state costs as decimal numbers (milliseconds, dollars, distances); inside they
are whole thousandths, so that sums are exact. They are rounded up: that keeps the
triangle inequality, since a sum of whole numbers that covers a number covers it rounded
up, too.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from brokerwise.model.arrays import Float64s, Int32s, Int64s, freeze_arrays, read_only
from brokerwise.model.errors import InputError
from brokerwise.model.interests import check_lists
from brokerwise.model.names import Names
from brokerwise.model.subchannels import Subchannels
from brokerwise.model.units import checked_count

THOUSANDTHS = 1000
MOST_COST = 10**12
"""Of one link, in thousandths."""

# Thousandths, and a share, that are floating point's doing: 0.1 + 0.2 is no more
# than 0.3.
_ABSOLUTE, _RELATIVE = 1e-9, 2.0**-50

_MOST_TOTAL = 2**61
OUT_OF_REACH = -1
"""The access cost of a broker that a user does not know."""


def cost_units(costs: Any) -> Int64s:
    """Costs in thousandths, rounded up; they must be finite and not negative."""
    scaled = np.asarray(costs, np.float64) * THOUSANDTHS
    return np.ceil(scaled - (_ABSOLUTE + _RELATIVE * scaled)).astype(np.int64)


def distances(a: Float64s, b: Float64s) -> Int64s:
    """Costs of links between points: their Euclidean distance.

    Of points on a line, rounding may break the triangle inequality by a thousandth:
    `shortest_paths` mends that between brokers.
    """
    squares = np.zeros((len(a), len(b)))
    for dimension in range(a.shape[1]):
        difference = a[:, dimension, None] - b[None, :, dimension]
        squares += difference * difference
    return cost_units(np.sqrt(squares))


@dataclass(frozen=True)
class Detour:
    """Three brokers: the link from `a` to `b` costs more than the way by `by`."""

    a: int
    by: int
    b: int
    link: int
    detour: int


def shorter_detour(core: Int64s) -> Detour | None:
    """The worst violation of the triangle inequality, or None. O(brokers^3)."""
    worst, found = 0, None
    for by in range(len(core)):
        way = core[:, by, None] + core[None, by, :]
        excess = core - way
        at = int(np.argmax(excess))
        if excess.flat[at] > worst:
            worst = int(excess.flat[at])
            a, b = divmod(at, len(core))
            found = Detour(a, by, b, int(core[a, b]), int(way[a, b]))
    return found


def shortest_paths(core: Int64s) -> Int64s:
    """Each link at the cost of the cheapest way between its ends. O(brokers^3)."""
    best = core.copy()
    for by in range(len(core)):
        np.minimum(best, best[:, by, None] + best[None, by, :], out=best)
    return best


def check_core(core: Int64s, names: Any = None) -> None:
    """Refuse costs of links between brokers that are no metric.

    `names` gives the name of a broker by its number, for errors.
    """

    def broker(number: int) -> str:
        return f"broker {number}" if names is None else repr(names[number])

    if np.diagonal(core).any():
        at = int(np.argmax(np.diagonal(core) != 0))
        raise InputError(
            f"core costs: {broker(at)} to itself costs "
            f"{core[at, at] / THOUSANDTHS:g}, expected 0"
        )
    if (core != core.T).any():
        a, b = divmod(int(np.argmax(core != core.T)), len(core))
        raise InputError(
            f"core costs: {broker(a)} to {broker(b)} costs "
            f"{core[a, b] / THOUSANDTHS:g}, back {core[b, a] / THOUSANDTHS:g}, "
            "expected the same both ways"
        )
    wrong = shorter_detour(core)
    if wrong is not None:
        raise InputError(
            f"core costs: {broker(wrong.a)} to {broker(wrong.b)} costs "
            f"{wrong.link / THOUSANDTHS:g}, but by {broker(wrong.by)} only "
            f"{wrong.detour / THOUSANDTHS:g}: the triangle inequality does not hold"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Wanted:
    """For each user the sub-channels that it subscribes to, ascending."""

    offsets: Int64s
    subchannels: Int32s

    def __post_init__(self) -> None:
        freeze_arrays(self, "interests", offsets=np.int64, subchannels=np.int32)
        check_lists(
            "interests",
            self.offsets,
            self.subchannels,
            owner="user",
            entry="sub-channel",
        )

    def owners(self) -> Int64s:
        """The user of each entry."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


@dataclass(frozen=True, eq=False, repr=False)
class Published:
    """For each user the sub-channels that it publishes in, ascending, and how many
    messages (or bytes) a period in each: at least one."""

    offsets: Int64s
    subchannels: Int32s
    rates: Int64s

    def __post_init__(self) -> None:
        freeze_arrays(
            self, "rates", offsets=np.int64, subchannels=np.int32, rates=np.int64
        )
        check_lists(
            "rates", self.offsets, self.subchannels, owner="user", entry="sub-channel"
        )
        if len(self.rates) != len(self.subchannels):
            raise InputError(
                f"rates: found {len(self.rates):,} for {len(self.subchannels):,} "
                "sub-channels"
            )
        if len(self.rates) and self.rates.min() < 1:
            raise InputError(f"rates: found {self.rates.min()}, expected >= 1")

    def owners(self) -> Int64s:
        """The user of each entry."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


@dataclass(frozen=True, eq=False, repr=False)
class Network:
    """Who publishes and wants what, and what the links cost.

    Attributes
    ----------
    capacity
        Of each broker: messages (or bytes) a period that its users may send and
        receive in all.
    access
        Cost of the link from each user (row) to each broker, in thousandths;
        OUT_OF_REACH where the user does not know the broker.
    core
        Cost of the link between brokers, in thousandths; a metric.
    user_points, broker_points
        Where they are, if known: for maps. One row each, the same dimensions.
    """

    capacity: Int64s
    access: Int64s
    core: Int64s
    published: Published
    wanted: Wanted
    subchannels: Subchannels
    user_names: Names
    broker_names: Names
    period_seconds: int = 1
    user_points: Float64s | None = None
    broker_points: Float64s | None = None

    def __post_init__(self) -> None:
        freeze_arrays(self, "network", capacity=np.int64)
        for field, rows in (("access", self.users), ("core", self.brokers)):
            self._check_matrix(field, rows)
        self._check_lengths()
        if self.brokers and self.capacity.min() < 0:
            name = self.broker_names[int(np.argmin(self.capacity))]
            raise InputError(
                f"capacity of broker {name!r}: found {self.capacity.min():,}, "
                "expected >= 0"
            )
        check_core(self.core, self.broker_names)
        self._check_reach()
        period = checked_count(self.period_seconds, "period_seconds", least=1)
        object.__setattr__(self, "period_seconds", period)
        self._check_points()
        self._refuse_overflow()

    @property
    def users(self) -> int:
        return len(self.wanted.offsets) - 1

    @property
    def brokers(self) -> int:
        return len(self.capacity)

    def _check_matrix(self, field: str, rows: int) -> None:
        costs = np.asarray(getattr(self, field))
        if costs.shape != (rows, self.brokers) or costs.dtype.kind not in "iu":
            raise InputError(
                f"{field} costs: found {costs.dtype} of shape {costs.shape}, expected "
                f"whole numbers of shape ({rows}, {self.brokers})"
            )
        least = OUT_OF_REACH if field == "access" else 0
        if costs.size and (costs.min() < least or costs.max() > MOST_COST):
            wrong = costs.min() if costs.min() < least else costs.max()
            raise InputError(
                f"{field} costs: found {wrong / THOUSANDTHS:g}, expected from 0 to "
                f"{MOST_COST / THOUSANDTHS:,.0f}"
            )
        costs = np.ascontiguousarray(costs.astype(np.int64, copy=False))
        object.__setattr__(self, field, read_only(costs))

    def _check_lengths(self) -> None:
        found: dict[str, tuple[int, int]] = {
            "published": (len(self.published.offsets) - 1, self.users),
            "user_names": (len(self.user_names), self.users),
            "broker_names": (len(self.broker_names), self.brokers),
        }
        for field, (length, expected) in found.items():
            if length != expected:
                raise InputError(f"{field}: found {length:,}, expected {expected:,}")
        for what, numbers in (
            ("interests", self.wanted.subchannels),
            ("rates", self.published.subchannels),
        ):
            if len(numbers) and numbers.max() >= len(self.subchannels):
                raise InputError(
                    f"{what}: found sub-channel {numbers.max():,}, expected below "
                    f"{len(self.subchannels):,}"
                )

    def _check_reach(self) -> None:
        lost = ~(self.access >= 0).any(axis=1)
        if lost.any():
            name = self.user_names[int(np.argmax(lost))]
            others = int(lost.sum()) - 1
            also = f", nor have {others:,} others" if others else ""
            if others == 1:
                also = ", nor has 1 other"
            raise InputError(f"user {name!r} has no broker in reach{also}")

    def _check_points(self) -> None:
        if (self.user_points is None) != (self.broker_points is None):
            raise InputError("points: found some, expected users' and brokers' or none")
        dimensions = []
        for field, rows in (
            ("user_points", self.users),
            ("broker_points", self.brokers),
        ):
            points: Any = getattr(self, field)
            if points is None:
                return
            points = np.asarray(points, np.float64)
            if points.ndim != 2 or len(points) != rows or points.shape[1] == 0:
                raise InputError(
                    f"{field}: found shape {points.shape}, expected {rows:,} rows of "
                    "coordinates"
                )
            if not np.isfinite(points).all():
                wrong = points[~np.isfinite(points)][0]
                raise InputError(f"{field}: found {wrong}, expected finite numbers")
            dimensions.append(points.shape[1])
            object.__setattr__(self, field, read_only(points))
        if dimensions[0] != dimensions[1]:
            raise InputError(
                f"points: users' have {dimensions[0]} coordinates, "
                f"brokers' {dimensions[1]}, expected as many"
            )

    def _refuse_overflow(self) -> None:
        """No plan may cost more than 64 bits can count, sums on the way included."""
        rates = self._rates_by_subchannel()
        followers = np.bincount(
            self.wanted.subchannels, minlength=len(self.subchannels)
        )
        sent = sum(rates)
        received = sum(map(int.__mul__, rates, followers.tolist()))
        dearest = int(self.access.max(initial=0))
        longest = int(self.core.max(initial=0)) * max(0, self.brokers - 1)
        most = (sent + received) * max(1, dearest) + sent * longest
        if most > _MOST_TOTAL:
            raise InputError(
                f"network: its cost may reach {most:.3g} thousandths, expected at most "
                f"{_MOST_TOTAL:.3g} (2^61)",
                hint="State rates or link costs in larger units.",
            )

    def _rates_by_subchannel(self) -> list[int]:
        """Exact sums, however large: those of both halves of the bits fit."""
        halves = []
        for part in (self.published.rates >> 32, self.published.rates & 0xFFFFFFFF):
            sums = np.zeros(len(self.subchannels), np.int64)
            np.add.at(sums, self.published.subchannels, part)
            halves.append(sums.tolist())
        return [(high << 32) + low for high, low in zip(*halves, strict=True)]

    def __repr__(self) -> str:
        return (
            f"Network({self.users:,} users, {self.brokers:,} brokers, "
            f"{len(self.subchannels):,} sub-channels)"
        )
