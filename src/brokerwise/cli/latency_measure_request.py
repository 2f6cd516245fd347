"""What a call of `brokerwise latency measure` asks for."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from brokerwise.cli.latency_ranges import parse_numbers, parse_topics
from brokerwise.model.errors import InputError
from brokerwise.model.units import parse_bytes

if TYPE_CHECKING:
    from brokerwise.runtime.load.series import DrawnSeries, PlannedSeries
    from brokerwise.runtime.load.trials import Load

MOST_TOPICS = 8
OF_DRAWING = ("k", "configurations", "processing", "target_ms")


@dataclass(frozen=True)
class Sending:
    """Options that say how messages are sent, as they were given."""

    rate_each: float
    messages: int
    message_bytes: str
    longest: float
    broker_cores: str
    seed: int

    def load(self) -> "Load":
        from brokerwise.runtime.load.trials import Load

        return Load(
            messages=self.messages,
            message_bytes=parse_bytes(self.message_bytes, "--message-bytes"),
            rate_each=self.rate_each,
            longest=self.longest,
        )


@dataclass(frozen=True)
class Drawing:
    """Options that say which configurations there are, as they were given."""

    k: str
    configurations: int
    processing: str
    target_ms: float


def drawn_series(drawing: Drawing, sending: Sending) -> "DrawnSeries":
    """Raises InputError for what cannot be measured."""
    from brokerwise.latency.design import MIXED, Design
    from brokerwise.runtime.load.measure import cores_for
    from brokerwise.runtime.load.series import DrawnSeries

    design = Design(
        parse_ks(drawing.k),
        drawing.configurations,
        _processing(drawing.processing),
        way=MIXED,
        target_ms=drawing.target_ms,
        seed=sending.seed,
    )
    cores = cores_for(parse_cores(sending.broker_cores))
    return DrawnSeries(design, sending.load(), cores)


def planned_series(plan: str, sending: Sending) -> "PlannedSeries":
    """Raises InputError for what cannot be measured."""
    from brokerwise.runtime.load.measure import cores_for
    from brokerwise.runtime.load.series import PlannedSeries
    from brokerwise.storage.colocation_plan import read_colocation_plan
    from brokerwise.storage.place import Place

    load, cores = sending.load(), cores_for(parse_cores(sending.broker_cores))
    place = Place(plan).absolute()
    stored = read_colocation_plan(place)
    return PlannedSeries(stored, str(place), load, cores, sending.seed)


def parse_ks(text: str) -> tuple[int, ...]:
    found = parse_topics(text, "--k")
    if found[-1] > MOST_TOPICS:
        raise InputError(f"--k: found {found[-1]}, expected from 1 to {MOST_TOPICS}")
    return found


def parse_cores(text: str) -> tuple[int, ...]:
    """`0` or `0,2`."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise InputError(
            f"--broker-cores: found {text!r}, expected numbers of cores such as 0 or "
            "0,1"
        )
    return tuple(sorted({int(part) for part in parts}))


def _processing(text: str) -> tuple[float, ...]:
    found = parse_numbers(text, "--processing")
    wrong = [value for value in found if not 0 < value < float("inf")]
    if wrong:
        raise InputError(
            f"--processing: found {wrong[0]:g}, expected milliseconds above 0"
        )
    return found
