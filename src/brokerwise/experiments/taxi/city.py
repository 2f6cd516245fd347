"""Taxis on their way through a city of 3 km by 3 km. Pure; all of it follows from a
seed.

Places are whole centimetres, so whoever computes a region or a speed gets the same.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from math import dist

REGION_CM = 50_000
SIDE_CM = 6 * REGION_CM
_SPEED_CM = (500, 1_400)  # a second
_GLITCH = 0.01  # of all positions are nonsense
_FAR_CM = 2_000_000
_CENTRES = ((150_000, 150_000), (90_000, 210_000), (220_000, 80_000))

Place = tuple[int, int]  # x, y in centimetres


@dataclass(frozen=True)
class Track:
    """Where a taxi is in each second; None while it is not out."""

    taxi: str
    places: tuple[Place | None, ...]


@dataclass(frozen=True)
class Position:
    """What a taxi tells, `second` seconds after the beginning: where it is, and where
    it was a second before. With `glitch` its receiver says nonsense."""

    taxi: str
    seq: int
    second: int
    place: Place
    before: Place
    glitch: bool

    @property
    def told(self) -> Place:
        x, y = self.place
        return (x + _FAR_CM, y) if self.glitch else (x, y)

    @property
    def region(self) -> str:
        """That of the topic it is told to: a taxi knows where it is."""
        return region_of(self.place)

    def message(self, told_at: int) -> dict[str, str | int]:
        """As it is published; `told_at` is milliseconds since 1970."""
        return {
            "taxi": self.taxi,
            "seq": self.seq,
            "x": self.told[0],
            "y": self.told[1],
            "before_x": self.before[0],
            "before_y": self.before[1],
            "told_at": told_at,
        }


def region_of(place: Place) -> str:
    return f"{place[0] // REGION_CM}_{place[1] // REGION_CM}"


def drawn_tracks(seed: int, taxis: int, seconds: int) -> list[Track]:
    """Each drives from somewhere to somewhere, all the time."""
    return [
        Track(f"taxi{n:03}", tuple(_drive(random.Random(f"{seed}/{n}"), seconds)))
        for n in range(taxis)
    ]


def positions(track: Track, seed: int) -> list[Position]:
    """What a taxi tells, second by second; seqs count from 1."""
    rng = random.Random(f"{seed}/{track.taxi}/glitches")
    found: list[Position] = []
    before: Place | None = None
    for second, place in enumerate(track.places):
        if place is not None:
            glitch = rng.random() < _GLITCH
            found.append(
                Position(
                    *(track.taxi, len(found) + 1, second, place),
                    *(before or place, glitch),
                )
            )
        before = place
    return found


def _drive(rng: random.Random, seconds: int) -> Iterator[Place]:
    here, goal = _somewhere(rng), _somewhere(rng)
    speed = rng.randint(*_SPEED_CM)
    for _ in range(seconds):
        yield here
        away = dist(here, goal)
        if away <= speed:
            here, goal = goal, _somewhere(rng)
            speed = rng.randint(*_SPEED_CM)
        else:
            share = speed / away
            here = (
                here[0] + round((goal[0] - here[0]) * share),
                here[1] + round((goal[1] - here[1]) * share),
            )


def _somewhere(rng: random.Random) -> Place:
    """More often near one of the centres than elsewhere."""
    x, y = rng.choice(_CENTRES)
    near = rng.random() < 0.7
    place = (rng.gauss(x, 30_000), rng.gauss(y, 30_000)) if near else (-1.0, -1.0)
    if not all(0 <= value < SIDE_CM for value in place):
        place = (rng.random() * (SIDE_CM - 1), rng.random() * (SIDE_CM - 1))
    return int(place[0]), int(place[1])
