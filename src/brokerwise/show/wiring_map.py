"""The map of an overlay: where brokers and users are drawn, and their links."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from html import escape
from math import sqrt
from typing import Any

import numpy as np

from brokerwise.model.arrays import Float64s, Int32s, Int64s
from brokerwise.model.network import THOUSANDTHS, Network
from brokerwise.show.numbers import counted, percent, short, significant
from brokerwise.show.plots import Axis, Plot
from brokerwise.show.results import Result
from brokerwise.show.tables import Table

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


_SPOKES = 1_000  # more users than this are dots without a line to their broker
_SQUARE = (8.0, 26.0)  # pixels, if there are few
_FEW = 25  # brokers; marks of more are smaller
_DOT = 5.0
_CLASSES = ((0.5, 8.0), (0.2, 5.0), (0.05, 3.0), (0.0, 1.25))
"""Links that carry more than this share of the busiest one's traffic, in pixels."""

_HOW = {
    "points": "They are where their coordinates say.",
    "line": "They have one coordinate; their height on this map says nothing.",
    "plane": "They have more than two coordinates: this is how they spread most.",
    "costs": "They have no coordinates: brokers are placed so that their distances "
    "come close to what their links cost (classical multidimensional scaling), and "
    "users are bunched beside their broker.",
}


@dataclass(frozen=True)
class Marks:
    """Points of one kind on a map, or lines through them if there is no `symbol`.

    None in `x` and `y` ends a line. A `symbol` is for all, or one for each; `colour`
    is that of a series, or None for that of the text.
    """

    name: str
    x: Sequence[float | None]
    y: Sequence[float | None]
    hover: Sequence[str] = ()
    colour: int | None = None
    symbol: Sequence[str] = ""
    sizes: Sequence[float] | float = _DOT
    width: float = 1.0
    opacity: float = 1.0
    legend: bool = True

    def spec(self) -> dict[str, Any]:
        return asdict(self) | {
            "name": escape(self.name),
            "hover": [escape(text) for text in self.hover],
        }


@dataclass(frozen=True)
class Map(Plot):
    """A plot that keeps its proportions, of marks that are drawn one on the other."""

    marks: Sequence[Marks] = ()

    @property
    def drawable(self) -> bool:
        return any(len(marks.x) for marks in self.marks)

    def spec(self) -> dict[str, Any]:
        return {
            "map": True,
            "x": {"title": escape(self.x.title)},
            "y": {"title": escape(self.y.title)},
            "series": [marks.spec() for marks in self.marks if len(marks.x)],
        }


def overlay_map(result: Result) -> Map:
    """Users, links and brokers of a result with details, from below to above."""
    details = result["details"]
    titled = details["how"] == "points"
    return Map(
        "The overlay",
        _caption(details),
        Axis("x" if titled else "", False),
        Axis("y" if titled else "", False),
        [],
        [_broker_table(details["brokers"])],
        wide=True,
        marks=[*_users(details), *_links(details), _brokers(details["brokers"])],
    )


def _caption(details: Result) -> str:
    users, links = details["users"], details["links"]
    shown = len(users["x"])
    said = [
        "Squares are brokers, larger with their load, hollow without any; dots are "
        "users, in the colour of their broker; lines are links between brokers, wider "
        "with what crosses them.",
        _HOW[details["how"]],
    ]
    if shown < users["total"]:
        said.append(f"Shown are {shown:,} of {counted(users['total'], 'user')}.")
    if len(links["a"]) < links["total"]:
        said.append(
            f"Shown are the busiest {len(links['a']):,} of {links['total']:,} links."
        )
    return " ".join(said)


def _users(details: Result) -> Iterator[Marks]:
    """Dots in the colours of brokers, on thin lines to them if there are few."""
    users, brokers = details["users"], details["brokers"]
    of_colour: dict[int, list[int]] = {}
    for number, broker in enumerate(users["broker"]):
        of_colour.setdefault(brokers["colour"][broker], []).append(number)
    if len(users["x"]) <= _SPOKES:
        for colour, numbers in sorted(of_colour.items()):
            yield _spokes(details, colour, numbers)
    for place, (colour, numbers) in enumerate(sorted(of_colour.items())):
        yield Marks(
            "users, in the colour of their broker",
            [users["x"][n] for n in numbers],
            [users["y"][n] for n in numbers],
            [_user_text(users, brokers, n) for n in numbers],
            colour,
            "circle",
            width=0.0,
            opacity=0.75,
            legend=place == 0,
        )


def _spokes(details: Result, colour: int, numbers: Sequence[int]) -> Marks:
    users, brokers = details["users"], details["brokers"]
    ends = [(n, users["broker"][n]) for n in numbers]
    return Marks(
        "access links",
        [x for n, b in ends for x in (users["x"][n], brokers["x"][b], None)],
        [y for n, b in ends for y in (users["y"][n], brokers["y"][b], None)],
        colour=colour,
        width=0.75,
        opacity=0.4,
        legend=False,
    )


def _shrunk(brokers: Result) -> float:
    """What sizes and widths are multiplied with: many brokers need their room."""
    return max(0.4, min(1.0, sqrt(_FEW / max(1, len(brokers["x"])))))


def _links(details: Result) -> Iterator[Marks]:
    """Lines by how much crosses them, and unseen marks at their middles to point at:
    a line has a text at its ends only."""
    links, brokers = details["links"], details["brokers"]
    if not links["a"]:
        return
    ends = list(zip(links["a"], links["b"], links["traffic"], strict=True))
    most, shrunk = links["traffic"][0], _shrunk(brokers)
    above = None
    for share, width in _CLASSES:
        chosen = [
            (a, b) for a, b, t in ends if t > share * most and not _over(t, above)
        ]
        above, name = share * most, f"over {short(share * most)}"
        yield Marks(
            f"links, {name}" if share else "links, less",
            [x for a, b in chosen for x in (brokers["x"][a], brokers["x"][b], None)],
            [y for a, b in chosen for y in (brokers["y"][a], brokers["y"][b], None)],
            width=round(width * shrunk, 2),
            opacity=0.55,
        )
    yield Marks(
        "links",
        [(brokers["x"][a] + brokers["x"][b]) / 2 for a, b, _ in ends],
        [(brokers["y"][a] + brokers["y"][b]) / 2 for a, b, _ in ends],
        [link_text(details, number) for number in range(len(ends))],
        symbol="circle",
        sizes=10.0,
        opacity=0.0,
        legend=False,
    )


def _over(traffic: float, above: float | None) -> bool:
    return above is not None and traffic > above


def link_text(details: Result, number: int) -> str:
    links, names = details["links"], details["brokers"]["name"]
    a, b = names[links["a"][number]], names[links["b"][number]]
    traffic, cost = links["traffic"][number], links["cost"][number]
    return f"{a} to {b}: {traffic:,} a period, each costs {significant(cost)}"


def _brokers(brokers: Result) -> Marks:
    least, most = (_shrunk(brokers) * size for size in _SQUARE)
    heaviest = max(brokers["load"], default=0) or 1
    return Marks(
        "brokers, larger with their load",
        brokers["x"],
        brokers["y"],
        [_broker_text(brokers, number) for number in range(len(brokers["x"]))],
        symbol=["square" if load else "square-open" for load in brokers["load"]],
        sizes=[
            round(least + (most - least) * sqrt(load / heaviest), 1)
            for load in brokers["load"]
        ],
        width=1.5,
    )


def _broker_text(brokers: Result, number: int) -> str:
    load, capacity = brokers["load"][number], brokers["capacity"][number]
    share = f", {percent(load / capacity)}" if capacity else ""
    users = counted(brokers["users"][number], "user")
    name = brokers["name"][number]
    return f"broker {name}: {users}, load {load:,} of {capacity:,}{share}"


def _user_text(users: Result, brokers: Result, number: int) -> str:
    name, broker = users["name"][number], brokers["name"][users["broker"][number]]
    load, link = users["load"][number], users["link"][number]
    return f"user {name} on {broker}: load {load:,}, each costs {significant(link)}"


def _broker_table(brokers: Result) -> Table:
    keys = ("name", "users", "load", "capacity")
    return Table(
        "Brokers",
        ("broker", *keys[1:], "x", "y"),
        [
            (name, *(f"{n:,}" for n in numbers), f"{x:g}", f"{y:g}")
            for name, *numbers, x, y in zip(
                *(brokers[key] for key in (*keys, "x", "y")), strict=True
            )
        ],
    )
