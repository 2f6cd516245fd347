"""What the user asked `summarize` to do."""

import re
from dataclasses import dataclass
from math import isfinite

from brokerwise.model.errors import InputError
from brokerwise.model.subchannels import MOST_SUBCHANNELS
from brokerwise.pipeline.ingest.options import FORMATS

WIDTH, MASS = "width", "mass"
CUTS = (WIDTH, MASS)
DEFAULT_INTERVALS = 100

Space = tuple[tuple[float, float], ...]

_RANGE = re.compile(r"\s*([^:\s]+)\s*:\s*([^:\s]+)\s*")
_RESERVED = ("publisher", "time", "size")


@dataclass(frozen=True)
class SummarizeOptions:
    """Which history to read, and how to cut its content into sub-channels.

    Attributes
    ----------
    attributes
        Columns of the messages that content is told by; none: those that the
        subscriptions have ranges of.
    subchannels
        Intervals of each attribute, or one number for all of them.
    cut
        WIDTH: intervals of equal width; MASS: of as many messages each.
    space
        Lowest and highest value of each attribute; None: of the messages.
    by_bytes
        Rates count bytes, not messages.
    """

    messages: tuple[str, ...]
    subscriptions: str
    attributes: tuple[str, ...] = ()
    subchannels: tuple[int, ...] = (DEFAULT_INTERVALS,)
    cut: str = WIDTH
    space: Space | None = None
    by_bytes: bool = False
    period_seconds: int | None = None
    format: str | None = None
    max_rejected: float = 0.01

    def __post_init__(self) -> None:
        if not self.messages:
            raise InputError("MESSAGES: found no file, expected at least one")
        if self.cut not in CUTS:
            raise InputError(f"--cut: found {self.cut!r}, expected {' or '.join(CUTS)}")
        if self.format is not None and self.format not in FORMATS:
            raise InputError(
                f"--format: found {self.format!r}, expected one of "
                + ", ".join(FORMATS)
            )
        check_attributes(self.attributes)
        for intervals in self.subchannels:
            if not 1 <= intervals <= MOST_SUBCHANNELS:
                raise InputError(
                    f"--subchannels: found {intervals:,}, expected from 1 to "
                    f"{MOST_SUBCHANNELS:,}"
                )
        for low, high in self.space or ():
            if not (isfinite(low) and isfinite(high) and low < high):
                raise InputError(
                    f"--space: found {low:g}:{high:g}, expected a lower and a higher "
                    "number"
                )

    def intervals(self, attributes: int) -> tuple[int, ...]:
        """Of each attribute."""
        given = self.subchannels
        counts = given * attributes if len(given) == 1 else given
        if len(counts) != attributes:
            raise InputError(
                f"--subchannels: found {len(given)} numbers, expected one for each of "
                f"{attributes} attributes, or one for all"
            )
        return counts

    def known_space(self, attributes: int) -> Space | None:
        if self.space is not None and len(self.space) != attributes:
            raise InputError(
                f"--space: found {len(self.space)} ranges, expected one for each of "
                f"{attributes} attributes"
            )
        return self.space


def parse_space(text: str) -> Space:
    """`0:100`, or `0:100,-5:5` for two attributes."""
    ranges = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        try:
            if match is None:
                raise ValueError(part)
            ranges.append((float(match[1]), float(match[2])))
        except ValueError as cause:
            raise InputError(
                f"--space: found {text!r}, expected LOW:HIGH for each attribute, "
                "such as 0:100,-5:5"
            ) from cause
    return tuple(ranges)


def parse_intervals(text: str) -> tuple[int, ...]:
    """`100`, or `100,50` for two attributes."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() for part in parts):
        raise InputError(
            f"--subchannels: found {text!r}, expected a whole number for each "
            "attribute, such as 100,50"
        )
    return tuple(map(int, parts))


def check_attributes(attributes: tuple[str, ...]) -> None:
    for name in attributes:
        if not name or name in _RESERVED:
            raise InputError(
                f"--attributes: found {name!r}, expected columns other than "
                + ", ".join(_RESERVED)
            )
        if attributes.count(name) > 1:
            raise InputError(f"--attributes: {name!r} is there twice")
