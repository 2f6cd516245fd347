"""What a message costs its broker beside its processing."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from math import isfinite

from brokerwise.model.errors import InputError


@dataclass(frozen=True)
class Overhead:
    """What a message costs beside its processing; what calibration finds out.

    Attributes
    ----------
    receive_ms, deliver_ms
        Processor time of the broker's own loop: before the step, which includes
        handing the message to the worker, and after it.
    subscriber_ms
        Processor time of the loop for each subscriber of the topic after the first.
    worker_ms
        Processor time of the worker beside the processing itself.
    factor
        What processing takes over what it is meant to take.
    path_ms
        Time on the way that keeps no core of the broker busy.
    lost
        Share of the cores that is lost while more processes are busy than there are
        cores: they take turns, and turns cost.
    """

    receive_ms: float = 0.07
    deliver_ms: float = 0.07
    subscriber_ms: float = 0.006
    worker_ms: float = 0.08
    factor: float = 1.02
    path_ms: float = 0.8
    lost: float = 0.004

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not (isfinite(value) and value >= 0):
                raise InputError(
                    f"{field.name} of the overhead: found {value:g}, expected a "
                    "number, 0 or more"
                )
        if self.factor == 0 or self.lost >= 1:
            raise InputError(
                f"the overhead: found a factor of {self.factor:g} and a lost share of "
                f"{self.lost:g}, expected one above 0 and one below 1"
            )

    def as_json(self) -> dict[str, float]:
        return asdict(self)

    @classmethod
    def parse(cls, text: str) -> "Overhead":
        """`receive_ms=0.2,factor=1.1`: what is not named is as by default."""
        return cls(**dict(_parts(text)))


TYPICAL = Overhead()
"""What is taken where nobody says otherwise."""

NONE = Overhead(0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0)
"""A broker that costs nothing."""


def _parts(text: str) -> Iterator[tuple[str, float]]:
    known = [field.name for field in fields(Overhead)]
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = part.partition("=")
        try:
            number = float(value)
        except ValueError:
            number = None
        if name.strip() not in known or number is None:
            raise InputError(
                f"overhead: found {part!r}, expected NAME=NUMBER",
                details=[f"names: {', '.join(known)}"],
            )
        yield name.strip(), number
