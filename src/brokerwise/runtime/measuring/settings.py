"""How configurations are loaded while they are measured."""

from dataclasses import dataclass
from math import isfinite

from brokerwise.model.errors import InputError
from brokerwise.runtime.protocol.limits import MAX_FRAME_BYTES

LEAST_MESSAGES = 10  # of a publisher, of which the first fifth does not count
MOST_BYTES = MAX_FRAME_BYTES // 2
ROOM_SECONDS = 1.5  # times what sending takes on average: waiting lasts at least that


@dataclass(frozen=True)
class Load:
    """Messages of each publisher, their size, their rate; and how many seconds after
    the first message waiting for the last one ends."""

    messages: int = 80
    message_bytes: int = 4096
    rate_each: float = 4.0
    longest: float = 60.0

    def __post_init__(self) -> None:
        _expect(
            self.messages >= LEAST_MESSAGES,
            f"--messages: found {self.messages:,}, expected at least {LEAST_MESSAGES}",
        )
        _expect(
            2 <= self.message_bytes <= MOST_BYTES,
            f"--message-bytes: found {self.message_bytes:,}, expected from 2 to "
            f"{MOST_BYTES:,}",
        )
        _expect(
            isfinite(self.rate_each) and self.rate_each > 0,
            f"--rate-each: found {self.rate_each:g}, expected messages a second, "
            "above 0",
        )
        least = ROOM_SECONDS * self.messages / self.rate_each
        _expect(
            isfinite(self.longest) and self.longest >= least,
            f"--longest: found {self.longest:g} s, expected at least {least:g}: "
            f"{self.messages:,} messages at {self.rate_each:g}/s take about "
            f"{self.messages / self.rate_each:g}",
        )


def _expect(right: bool, message: str) -> None:
    if not right:
        raise InputError(message)
