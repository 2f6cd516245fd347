"""Networks to try things on, of any size: the instances of Zhao and Wu (2011)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from math import isfinite, sqrt
from typing import Any

import numpy as np

from brokerwise.model.arrays import Float64s, Int32s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.names import Names
from brokerwise.model.network import (
    OUT_OF_REACH,
    THOUSANDTHS,
    Network,
    Published,
    Wanted,
    cost_units,
    distances,
    shortest_paths,
)
from brokerwise.model.subchannels import MOST_SUBCHANNELS, Subchannels
from brokerwise.model.units import checked_count
from brokerwise.pipeline.networks.topology import (
    NO_WAY,
    averaged,
    check_square,
    filled,
    metric,
    whole,
)
from brokerwise.planners.overlay.problem import Demand

MEAN_RATE = 10
"""Messages a period in each interval of one dimension, on average."""
_SAMPLES = 24  # places at least, along each dimension, at which a density is taken
_VALUES_PER_BLOCK = 4_000_000
# Of the positive part of a quadratic in one dimension with coefficients from -1 to 1;
# the sum of several is as wide as the root of their number.
_MEAN_DENSITY = 0.285
PLANE, INDEPENDENT = "plane", "independent"
COSTS = (PLANE, INDEPENDENT)
SIDE = 100.0
"""Of the square that users and brokers are in."""
_MOST_USERS = 10_000_000
_MOST_BROKERS = 10_000
_MOST_CELLS = 10**10  # users times sub-channels: each is looked at
_MOST_LINKS = 10**9  # users times brokers: each takes eight bytes
_LINKS_PER_BLOCK = 4_000_000
# What a stream of random numbers is for: a setting changes only what it is about.
_PLACES, _ACCESS, _DENSITIES, _INTERESTS, _KNOWN = range(5)


def draw_published(
    random: np.random.Generator, users: int, intervals: int, dimensions: int
) -> Published:
    """Rates after a random quadratic of each user, its negative part cut to 0.

    In several dimensions a quadratic in each coordinate is drawn, and they are added.
    A user publishes MEAN_RATE * intervals messages on average, whatever the number of
    dimensions; one whose density is 0 everywhere publishes nothing. Fractions of a
    message are carried to the next sub-channel, so a user's total is off by less
    than one.
    """
    coefficients = random.uniform(-1, 1, (users, dimensions, 3))
    carried = random.random(users)
    counts, subchannels, rates = [], [], []
    scale = _scale(intervals, dimensions)
    for first, density in _densities(coefficients, intervals):
        expected = np.cumsum(density, axis=1)
        expected *= scale
        expected += carried[first : first + len(density), None]
        rate = np.diff(np.floor(expected).astype(np.int64), axis=1, prepend=0)
        user, subchannel = np.nonzero(rate)
        counts.append(np.bincount(user, minlength=len(density)))
        subchannels.append(subchannel.astype(np.int32))
        rates.append(rate[user, subchannel])
    return Published(
        offsets_of(np.concatenate(counts)),
        np.concatenate(subchannels),
        np.concatenate(rates),
    )


def _scale(intervals: int, dimensions: int) -> float:
    """From a density's value in a sub-channel to messages."""
    share = float(intervals) ** (1 - dimensions)
    return MEAN_RATE * share / (_MEAN_DENSITY * sqrt(dimensions))


def _densities(
    coefficients: Float64s, intervals: int
) -> Iterator[tuple[int, Float64s]]:
    """Some users at a time: the first, and the mean density in each sub-channel."""
    users, dimensions, _ = coefficients.shape
    finer = -(-_SAMPLES // intervals)
    places = (np.arange(intervals * finer) + 0.5) / (intervals * finer)
    powers = np.stack([places * places, places, np.ones_like(places)])
    each = max(1, _VALUES_PER_BLOCK // len(places) ** dimensions)
    for first in range(0, users, each):
        part = coefficients[first : first + each] @ powers
        yield first, _cell_means(part, finer)


def _cell_means(part: Float64s, finer: int) -> Float64s:
    """(users, dimensions, places) to (users, sub-channels), the last dimension
    running fastest."""
    users, dimensions, places = part.shape
    density = part[:, 0].reshape(users, places, *[1] * (dimensions - 1))
    for dimension in range(1, dimensions):
        shape = [1] * dimensions
        shape[dimension] = places
        density = density + part[:, dimension].reshape(users, *shape)
    density = np.maximum(density, 0)
    if finer > 1:
        split = [n for _ in range(dimensions) for n in (places // finer, finer)]
        within = tuple(2 * dimension + 2 for dimension in range(dimensions))
        density = density.reshape(users, *split).mean(axis=within)
    return density.reshape(users, -1)


def draw_wanted(
    random: np.random.Generator,
    users: int,
    intervals: int,
    dimensions: int,
    width: float,
) -> Wanted:
    """A random interval of each user in each dimension: both ends uniform, or, with a
    width below 1, a length uniform up to it and a uniform place."""
    ends = random.random((2, users, dimensions))
    if width < 1:
        length = ends[0] * width
        low = ends[1] * (1 - length)
        high = low + length
    else:
        low, high = ends.min(axis=0), ends.max(axis=0)
    last = intervals - 1
    first = np.minimum((low * intervals).astype(np.int64), last)
    past = np.minimum((high * intervals).astype(np.int64), last) + 1
    return boxes(first, past, intervals)


def boxes(first: Int64s, past: Int64s, intervals: int) -> Wanted:
    """The sub-channels of a box for each user: from `first` to before `past` in each
    dimension (column), every dimension cut into as many intervals."""
    sides = past - first
    offsets = offsets_of(sides.prod(axis=1))
    user = np.repeat(np.arange(len(sides)), np.diff(offsets))
    within = np.arange(offsets[-1]) - offsets[user]
    found = np.zeros(len(user), np.int64)
    stride = 1
    for dimension in reversed(range(sides.shape[1])):
        within, along = np.divmod(within, sides[user, dimension])
        found += (first[user, dimension] + along) * stride
        stride *= intervals
    subchannels: Int32s = found.astype(np.int32)
    return Wanted(offsets, subchannels)


def offsets_of(counts: Int64s) -> Int64s:
    """Where the lists of so many entries start, and the end of the last."""
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


@dataclass(frozen=True, eq=False)
class NetworkSettings:
    """What a generated network is like.

    Attributes
    ----------
    subchannels
        Intervals that each content dimension is cut into.
    costs
        PLANE: links cost what they are long, in a square of side 100. INDEPENDENT:
        access costs are uniform, with the mean that core links have in the plane.
    ratio
        What an access link costs on average, over what a core link does: costs of
        core links are divided by it.
    width
        The longest subscription as a share of a dimension; 1 is any interval.
    capacity_factor
        Capacities are equal, and add up to so many times what all users send and
        receive, rounded up.
    known
        How many brokers a user can reach, drawn at random; None: all. With few, or
        with as many brokers as users, there may be no plan that respects capacities.
    latency
        Of one site (row) to another, NaN where unknown. Takes the place of the plane:
        users and brokers are at random sites, brokers at different ones as far as
        there are enough.
    """

    users: int
    brokers: int
    subchannels: int = 100
    dimensions: int = 1
    costs: str = PLANE
    ratio: float = 1.0
    width: float = 1.0
    capacity_factor: float = 2.0
    known: int | None = None
    latency: Float64s | None = None

    def __post_init__(self) -> None:
        _check_count("users", self.users, _MOST_USERS)
        _check_count("brokers", self.brokers, _MOST_BROKERS)
        _check_count("subchannels", self.subchannels, MOST_SUBCHANNELS)
        _check_count("dimensions", self.dimensions, 20)
        if self.known is not None:
            _check_count("known", self.known, self.brokers, " (the number of brokers)")
        if self.costs not in COSTS:
            raise InputError(
                f"costs: found {self.costs!r}, expected {' or '.join(COSTS)}"
            )
        _check_number("ratio", self.ratio, 1e-6, 1e6)
        _check_number("width", self.width, 0, 1)
        _check_number("capacity_factor", self.capacity_factor, 1e-6, 1e6)
        self._check_size()
        if self.latency is not None:
            check_square(np.asarray(self.latency, np.float64), "latency")

    def _check_size(self) -> None:
        cells = self.subchannels**self.dimensions
        for what, found, most in (
            ("sub-channels (subchannels ^ dimensions)", cells, MOST_SUBCHANNELS),
            ("users times sub-channels", self.users * cells, _MOST_CELLS),
            ("users times brokers", self.users * self.brokers, _MOST_LINKS),
        ):
            if found > most:
                raise InputError(f"{what}: found {found:,}, expected at most {most:,}")

    def as_json(self) -> dict[str, Any]:
        """Every setting but the latencies."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if name != "latency"}

    @property
    def attributes(self) -> tuple[str, ...]:
        """What the content dimensions are called."""
        if self.dimensions == 1:
            return ("content",)
        return tuple(f"content_{number + 1}" for number in range(self.dimensions))


def generate(settings: NetworkSettings, seed: int) -> Network:
    """A network of these settings; the same seed, the same network.

    O(users * (sub-channels + brokers) + brokers^3). Another ratio, other costs,
    another capacity, another choice of known brokers leave the rest as it is.
    """
    checked_count(seed, "seed")
    count, size = settings.users, settings.subchannels
    dimensions = settings.dimensions
    published = draw_published(_random(seed, _DENSITIES), count, size, dimensions)
    wanted = draw_wanted(
        _random(seed, _INTERESTS), count, size, dimensions, settings.width
    )
    subchannels = Subchannels.equal_width(settings.attributes, 0, 1, size)
    load = total_load(published, wanted, subchannels)
    each = -(-int(np.ceil(load * settings.capacity_factor)) // settings.brokers)
    access, core, points = _links(settings, seed)
    return Network(
        np.full(settings.brokers, each, np.int64),
        _forget(access, settings, seed),
        core,
        published,
        wanted,
        subchannels,
        Names.numbered(count),
        Names.numbered(settings.brokers),
        user_points=points[0],
        broker_points=points[1],
    )


def total_load(published: Published, wanted: Wanted, subchannels: Subchannels) -> int:
    """What all users send and receive, whatever links cost."""
    users = len(wanted.offsets) - 1
    bare = Network(
        np.zeros(1, np.int64),
        np.zeros((users, 1), np.int64),
        np.zeros((1, 1), np.int64),
        published,
        wanted,
        subchannels,
        Names.numbered(users),
        Names.numbered(1),
    )
    return int(Demand.of(bare).load.sum())


def _links(
    settings: NetworkSettings, seed: int
) -> tuple[Int64s, Int64s, tuple[Float64s | None, Float64s | None]]:
    """Access costs, core costs, and where users and brokers are."""
    random = _random(seed, _PLACES)
    if settings.latency is not None:
        between = _between_sites(settings.latency)
        brokers, users = _sites(settings, len(between), random)
        base = between[np.ix_(brokers, brokers)]
        core = metric(_divided(base, settings.ratio))
        access = _rows(settings, lambda few: between[np.ix_(users[few], brokers)])
        return _independent_or(access, base, settings, seed), core, (None, None)
    places = random.random((settings.brokers, 2)) * SIDE
    homes = random.random((settings.users, 2)) * SIDE
    base = distances(places, places)
    core = shortest_paths(_divided(base, settings.ratio))
    access = _rows(settings, lambda few: distances(homes[few], places))
    return _independent_or(access, base, settings, seed), core, (homes, places)


def _between_sites(latency: Float64s) -> Int64s:
    """Both ways the same, and gaps filled by way of other sites."""
    between = filled(whole(averaged(np.asarray(latency, np.float64))))
    if len(between) == 0 or (between >= NO_WAY).any():
        raise InputError(
            "latency: found sites with no way between them, expected all to be joined"
            if len(between)
            else "latency: found no site, expected at least one"
        )
    return between


def _sites(
    settings: NetworkSettings, sites: int, random: np.random.Generator
) -> tuple[Int64s, Int64s]:
    """The sites of brokers, none twice before each has one, and of users."""
    rounds = -(-settings.brokers // sites)
    orders = [random.permutation(sites) for _ in range(rounds)]
    return (
        np.concatenate(orders)[: settings.brokers],
        random.integers(sites, size=settings.users),
    )


def _divided(base: Int64s, ratio: float) -> Int64s:
    return cost_units(base / (THOUSANDTHS * ratio))


def _independent_or(
    access: Int64s, base: Int64s, settings: NetworkSettings, seed: int
) -> Int64s:
    """The access costs, or uniform ones with the mean of links between brokers."""
    if settings.costs != INDEPENDENT:
        return access
    random = _random(seed, _ACCESS)
    links = settings.brokers * (settings.brokers - 1)
    mean = float(base.sum() - np.trace(base)) / max(1, links) / THOUSANDTHS
    mean = mean or SIDE / 2  # of one broker there are no links
    return _rows(
        settings,
        lambda few: cost_units(
            random.random((len(few), settings.brokers)) * (2 * mean)
        ),
    )


def _forget(access: Int64s, settings: NetworkSettings, seed: int) -> Int64s:
    """Costs of the brokers that each user knows; the others are out of reach."""
    if settings.known in (None, settings.brokers):
        return access
    random, known = _random(seed, _KNOWN), settings.known

    def of(few: Int64s) -> Int64s:
        order = random.random((len(few), settings.brokers)).argpartition(known, axis=1)
        kept = np.full(order.shape, OUT_OF_REACH, np.int64)
        chosen = order[:, :known]
        costs = np.take_along_axis(access[few], chosen, axis=1)
        np.put_along_axis(kept, chosen, costs, axis=1)
        return kept

    return _rows(settings, of)


def _rows(settings: NetworkSettings, of: Callable[[Int64s], Int64s]) -> Int64s:
    """A matrix of users and brokers, some users at a time: what it takes to compute
    a row is several times the row."""
    rows = np.empty((settings.users, settings.brokers), np.int64)
    each = max(1, _LINKS_PER_BLOCK // settings.brokers)
    for first in range(0, settings.users, each):
        few = np.arange(first, min(first + each, settings.users))
        rows[few] = of(few)
    return rows


def _check_count(field: str, value: int, most: int, meaning: str = "") -> None:
    whole_number = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not (whole_number and 1 <= value <= most):
        raise InputError(
            f"{field}: found {value!r}, expected a whole number from 1 to "
            f"{most:,}{meaning}"
        )


def _check_number(field: str, value: float, least: float, most: float) -> None:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not (number and isfinite(value) and least <= value <= most):
        raise InputError(
            f"{field}: found {value!r}, expected a number from {least:g} to {most:,g}"
        )


def _random(seed: int, stream: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stream,)))
