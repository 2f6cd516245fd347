"""A city of 10 km by 10 km: its parts, its shelters, and what happens in it. Pure.

All of it follows from a seed. Places are whole half metres, which doubles hold
exactly: whoever computes a distance gets the same one.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from math import cos, hypot, pi, sin, sqrt
from typing import NamedTuple

METRES = 10_000  # along each side
CELL_METRES = 2_000
TYPES = (
    "fire",
    "flood",
    "crash",
    "gas",
    "power",
    "storm",
    "crime",
    "medical",
)
# How much of the city's life is where: x, y, reach in metres, weight.
_DISTRICTS = (
    (5_000, 5_200, 900, 8),
    (3_400, 6_100, 700, 4),
    (6_800, 3_900, 800, 3),
    (2_200, 2_600, 600, 2),
    (8_100, 7_700, 700, 1),
)
_ANYWHERE = 3  # the weight of all that is in no district
_PUBLISHER_SPEED = 40.0  # metres a second
_SENTENCES = tuple(
    line.strip()
    for line in """
    smoke over the roof, windows shut
    water on the road, please avoid
    bridge closed until further notice
    people need help on the second floor
    traffic diverted by the market
    crew on site, more to come
    power out north of the station
    trees down, drive with caution
    river rising, leave the cellar
    one injured, on the way to hospital
    listen to the local radio
    stay inside, keep away from the east gate
    """.strip().splitlines()
)
_TEXT_BYTES = (90, 570)  # a report then has 200 to 700 in all


class Place(NamedTuple):
    x: float
    y: float


@dataclass(frozen=True)
class Report:
    """An emergency that is reported `at` so many seconds after the beginning."""

    at: float
    report: str
    type: str
    severity: int
    place: Place
    text: str

    def record(self, fed_at: int) -> dict[str, str | int | float]:
        """As dataset `reports` has it."""
        return {
            "report": self.report,
            "type": self.type,
            "severity": self.severity,
            "cell": cell_of(self.place),
            "x": self.place.x,
            "y": self.place.y,
            "text": self.text,
            "fed_at": fed_at,
        }


def cell_of(place: Place) -> str:
    """The part of the city that a place is in: column and row."""
    return f"{int(place.x // CELL_METRES)}-{int(place.y // CELL_METRES)}"


def cells() -> list[str]:
    side = range(METRES // CELL_METRES)
    return [f"{column}-{row}" for column in side for row in side]


def shelters(seed: int, count: int) -> Iterator[dict[str, str | int | float]]:
    """Spread over the city, a little out of line: each in a field of its own."""
    rng = random.Random(f"{seed}/shelters")
    side = max(1, round(count**0.5))
    columns = -(-count // side)
    for number in range(count):
        column, row = divmod(number, side)
        yield {
            "shelter": f"shelter-{number:03}",
            "x": half_metres((column + rng.random()) * METRES / columns),
            "y": half_metres((row + rng.random()) * METRES / side),
            "beds": 10 + int(rng.random() * 490),
        }


def broker_places(count: int) -> list[Place]:
    """Spread over the city, without regard to where people are: on a spiral whose
    turns are a golden angle apart, the first one in the middle."""
    turn, middle = pi * (3 - sqrt(5)), METRES / 2
    far = [middle * sqrt(number / count) for number in range(count)]
    return [
        _inside(middle + r * cos(n * turn), middle + r * sin(n * turn))
        for n, r in enumerate(far)
    ]


def somewhere(rng: random.Random) -> Place:
    """Where somebody is: more likely in a district than out of it."""
    drawn = rng.random() * (_ANYWHERE + sum(weight for *_, weight in _DISTRICTS))
    for x, y, reach, weight in _DISTRICTS:
        if drawn < weight:
            return _inside(rng.gauss(x, reach), rng.gauss(y, reach))
        drawn -= weight
    return _inside(rng.random() * METRES, rng.random() * METRES)


def reports(seed: int, count: int, seconds: float) -> list[Report]:
    """So many reports within `seconds`, in order: eight publishers, one for each
    type, traverse the city quickly, and report what they meet."""
    rng = random.Random(f"{seed}/reports")
    times = sorted(rng.random() * seconds for _ in range(count))
    publishers = {kind: _Publisher(rng) for kind in TYPES}
    made = []
    for number, at in enumerate(times):
        kind = TYPES[int(rng.random() * len(TYPES))]
        place = publishers[kind].place_at(at)
        severity = 1 + int(rng.random() ** 2 * 5)
        name = f"r{seed}-{number:06}"
        made.append(Report(at, name, kind, severity, place, _text(rng)))
    return made


class _Publisher:
    """Goes from somewhere to somewhere, and reports what is around."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._place, self._goal = somewhere(rng), somewhere(rng)
        self._at = 0.0

    def place_at(self, at: float) -> Place:
        """Where it is now, or across the street. Times come in order."""
        metres, self._at = (at - self._at) * _PUBLISHER_SPEED, at
        away = distance(self._place, self._goal)
        if metres < away:
            self._place = between(self._place, self._goal, metres / away)
        else:
            self._place, self._goal = self._goal, somewhere(self._rng)
        gauss = self._rng.gauss
        return _inside(self._place.x + gauss(0, 50), self._place.y + gauss(0, 50))


def half_metres(value: float) -> float:
    return round(value * 2) / 2


def distance(start: Place, end: Place) -> float:
    """In metres, as the crow flies."""
    return hypot(end.x - start.x, end.y - start.y)


def between(start: Place, end: Place, share: float) -> Place:
    """On the way from one place to another, after a share of it."""
    return Place(
        half_metres(start.x + (end.x - start.x) * share),
        half_metres(start.y + (end.y - start.y) * share),
    )


def _inside(x: float, y: float) -> Place:
    most = METRES - 0.5
    return Place(
        half_metres(min(max(x, 0.0), most)), half_metres(min(max(y, 0.0), most))
    )


def _text(rng: random.Random) -> str:
    least, most = _TEXT_BYTES
    length = least + int(rng.random() * (most - least))
    text = ""
    while len(text) < length:
        text += _SENTENCES[int(rng.random() * len(_SENTENCES))] + "; "
    return text[:length].rstrip()
