"""Where brokers and users are drawn: on the plane, wherever they come from."""

from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Float64s, Int32s, Int64s
from brokerwise.model.network import THOUSANDTHS, Network

_GOLDEN = (5**0.5 - 1) / 2
_BESIDE = 0.4  # of the way to the next broker: users of two do not mix
_COLOURS = 5
_NEIGHBOURS = 6


@dataclass(frozen=True, eq=False)
class Layout:
    """A place on the plane for each broker and user, and how it was found.

    `how` is `points` (as they are), `line` (of one coordinate; the height says
    nothing), `plane` (seen from where more than two spread most) or `costs` (brokers
    by what links between them cost, users beside their broker).
    """

    how: str
    brokers: Float64s
    users: Float64s


def layout(network: Network, broker: Int32s) -> Layout:
    """Places on the plane; `broker` is that of each user. The same for the same."""
    user_points, broker_points = network.user_points, network.broker_points
    if user_points is None or broker_points is None or not broker_points.shape[1]:
        places = scaled(network.core) / THOUSANDTHS
        return Layout("costs", places, beside(places, broker))
    dimensions = broker_points.shape[1]
    if dimensions == 1:
        return _on_a_line(broker_points, user_points)
    if dimensions == 2:
        return Layout("points", broker_points, user_points)
    return _seen_flat(broker_points, user_points)


def scaled(costs: Int64s) -> Float64s:
    """Points on the plane whose distances are close to given costs.

    Classical multidimensional scaling (Torgerson): exact for distances on a plane, up
    to turning it. O(brokers^3).
    """
    count = len(costs)
    squares = costs.astype(np.float64) ** 2
    centred = squares - squares.mean(axis=0) if count else squares
    centred = centred - centred.mean(axis=1, keepdims=True) if count else centred
    values, vectors = np.linalg.eigh(-centred / 2)
    places = np.zeros((count, 2))
    for axis in range(min(2, count)):
        value, vector = max(values[-1 - axis], 0.0), vectors[:, -1 - axis]
        places[:, axis] = np.sqrt(value) * vector * _sign(vector)
    return places


def beside(places: Float64s, broker: Int32s) -> Float64s:
    """A place for each user, in a round bunch about its broker: users of one broker
    in the order of their numbers, from its middle outwards."""
    order = np.argsort(broker, kind="stable")
    counts = np.bincount(broker, minlength=len(places))
    first = np.cumsum(counts) - counts
    rank = np.empty(len(broker), np.int64)
    rank[order] = np.arange(len(broker)) - first[broker[order]]
    share = (rank + 1) / np.maximum(1, counts[broker])
    radius = _bunch(places) * np.sqrt(share)
    angle = 2 * np.pi * _GOLDEN * rank
    offset = np.column_stack([np.cos(angle), np.sin(angle)]) * radius[:, None]
    found: Float64s = places[broker] + offset
    return found


def colours(places: Float64s) -> list[int]:
    """A colour for each broker; those next to each other differ where they can."""
    found = np.full(len(places), -1)
    for number, place in enumerate(places):
        apart = ((places[:number] - place) ** 2).sum(axis=1)
        near = np.argsort(apart, kind="stable")[:_NEIGHBOURS]
        worst = np.full(_COLOURS, np.inf)
        for rank, other in reversed(list(enumerate(near))):
            worst[found[other]] = rank
        found[number] = int(np.argmax(worst))
    return [int(colour) for colour in found]


def _on_a_line(brokers: Float64s, users: Float64s) -> Layout:
    both = np.concatenate([brokers[:, 0], users[:, 0]])
    width = float(np.ptp(both)) if len(both) else 0.0
    height = ((np.arange(len(users)) * _GOLDEN) % 1 - 0.5) * (width or 1.0) / 4
    return Layout(
        "line",
        np.column_stack([brokers[:, 0], np.zeros(len(brokers))]),
        np.column_stack([users[:, 0], height]),
    )


def _seen_flat(brokers: Float64s, users: Float64s) -> Layout:
    """The plane of the two main directions of all points."""
    every = np.concatenate([brokers, users])
    middle = every.mean(axis=0)
    _, vectors = np.linalg.eigh((every - middle).T @ (every - middle))
    plane = vectors[:, [-1, -2]]
    plane = plane * [_sign(plane[:, 0]), _sign(plane[:, 1])]
    return Layout("plane", (brokers - middle) @ plane, (users - middle) @ plane)


def _bunch(places: Float64s) -> float:
    """How far from its broker a user is drawn at most."""
    if len(places) < 2:
        return 1.0
    apart = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2))
    widest = float(apart.max())
    np.fill_diagonal(apart, np.inf)
    nearest = float(np.median(apart.min(axis=1)))
    return _BESIDE * max(nearest, widest / len(places)) or 1.0


def _sign(vector: Float64s) -> float:
    """Turns a direction so that its largest part is above zero: one of two."""
    return 1.0 if vector[int(np.argmax(np.abs(vector)))] >= 0 else -1.0
