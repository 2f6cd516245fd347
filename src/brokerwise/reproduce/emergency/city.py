"""A city of 10 km by 10 km: its parts, its shelters, what happens in it, and the
datasets and channels that tell of it, as Nguyen et al. have them. Pure.

All of it follows from a seed. Places are whole half metres, which doubles hold exactly:
whoever computes a distance gets the same one. Reports are fed as emergencies happen,
locations as people move, shelters once. The seven channels ask for events of a type, in
a part of the city, or near a person. Where they name shelters, these are found by a
query of reports and shelters alone: it is done once, for all subscriptions. What
results say is text and whole numbers, so that two programs that agree write the same
text.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from math import cos, hypot, pi, sin, sqrt
from typing import NamedTuple

from brokerwise.runtime.protocol.data import (
    Channel,
    Column,
    ColumnType,
    Dataset,
    DatasetKind,
)

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


# Datasets and channels


NEAR_METRES = 1_000  # how far away an emergency is still near, along each axis
SHELTER_METRES = 2_000  # how far a shelter may be, along each axis
SHELTERS_NAMED = 3


def _columns(**types: str) -> tuple[Column, ...]:
    return tuple(Column(name, ColumnType(kind)) for name, kind in types.items())


REPORTS = Dataset(
    "reports",
    DatasetKind.APPEND,
    _columns(
        report="string",  # names it; there are no two the same
        type="string",
        severity="long",  # 1 to 5
        cell="string",  # the part of the city
        x="double",
        y="double",
        text="string",
        fed_at="long",  # when it was handed over, milliseconds since 1970
    ),
)
LOCATIONS = Dataset(
    "user_locations",
    DatasetKind.KEYED,
    _columns(user="string", x="double", y="double", at="long"),
    key="user",
)
SHELTERS = Dataset(
    "shelters",
    DatasetKind.STATIC,
    _columns(shelter="string", x="double", y="double", beds="long"),
)
DATASETS = (REPORTS, LOCATIONS, SHELTERS)

_BY_TYPE = """\
SELECT r.report, r.severity, r.cell, r.text, r.fed_at
FROM reports r
WHERE r.type = :type
"""

_IN_CELL = """\
SELECT r.report, r.type, r.severity, r.text, r.fed_at
FROM reports r
WHERE r.cell = :cell
"""

_NEAR_USER = """\
SELECT r.report, r.type, r.severity, r.text, r.fed_at,
       CAST(floor(sqrt((r.x - u.x) * (r.x - u.x) + (r.y - u.y) * (r.y - u.y)))
            AS BIGINT) AS metres
FROM user_locations u
JOIN reports r
  ON r.x BETWEEN u.x - 1000 AND u.x + 1000
 AND r.y BETWEEN u.y - 1000 AND u.y + 1000
WHERE u.user = :user
"""

_SEVERE = """\
SELECT r.report, r.severity, r.text, r.fed_at
FROM reports r
WHERE r.type = :type AND r.cell = :cell AND r.severity >= 3
"""

_WITH_SHELTERS = """\
(
  SELECT q.report, q.type, q.severity, q.cell, q.x, q.y, q.text, q.fed_at,
         slice(sort_array(collect_list(
           CASE WHEN s.shelter IS NOT NULL THEN named_struct(
             'metres', CAST(floor(sqrt(
               (q.x - s.x) * (q.x - s.x) + (q.y - s.y) * (q.y - s.y))) AS BIGINT),
             'shelter', s.shelter) END)), 1, 3) AS shelters
  FROM reports q
  LEFT JOIN shelters s
    ON s.x BETWEEN q.x - 2000 AND q.x + 2000
   AND s.y BETWEEN q.y - 2000 AND q.y + 2000
  GROUP BY q.report, q.type, q.severity, q.cell, q.x, q.y, q.text, q.fed_at
) r"""

_TYPE_NEAR_USER = f"""\
SELECT r.report, r.severity, r.cell, r.text, r.fed_at, r.shelters
FROM user_locations u
JOIN {_WITH_SHELTERS}
  ON r.x BETWEEN u.x - 1000 AND u.x + 1000
 AND r.y BETWEEN u.y - 1000 AND u.y + 1000
WHERE u.user = :user AND r.type = :type
"""

_CELL_SHELTERS = f"""\
SELECT r.report, r.type, r.severity, r.fed_at, r.shelters
FROM {_WITH_SHELTERS}
WHERE r.cell = :cell
"""

_TYPE_SUMMARY = """\
SELECT r.cell, count(*) AS reports, max(r.severity) AS worst, min(r.fed_at) AS fed_at
FROM reports r
WHERE r.type = :type
GROUP BY r.cell
"""

CHANNELS = (
    Channel("by_type", _BY_TYPE, 10.0, _columns(type="string")),
    Channel("in_cell", _IN_CELL, 10.0, _columns(cell="string")),
    Channel("near_user", _NEAR_USER, 10.0, _columns(user="string")),
    Channel("severe", _SEVERE, 20.0, _columns(type="string", cell="string")),
    Channel(
        "type_near_user", _TYPE_NEAR_USER, 20.0, _columns(type="string", user="string")
    ),
    Channel("cell_shelters", _CELL_SHELTERS, 30.0, _columns(cell="string")),
    Channel("type_summary", _TYPE_SUMMARY, 30.0, _columns(type="string")),
)


def channel_named(name: str) -> Channel:
    return next(channel for channel in CHANNELS if channel.name == name)
