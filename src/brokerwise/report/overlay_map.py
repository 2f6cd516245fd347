"""The map of an overlay: brokers, their users, and the links between brokers."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from html import escape
from math import sqrt
from typing import Any

from brokerwise.report.html import Table
from brokerwise.report.numbers import counted, percent, significant
from brokerwise.report.overlay_sentences import Result, short
from brokerwise.report.plots import Axis, Plot

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
