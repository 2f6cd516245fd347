"""What a call of `brokerwise fill` asks for."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from brokerwise.cli.places import refuse_wrong_places
from brokerwise.model.errors import InputError
from brokerwise.model.units import checked_count, parse_capacity

if TYPE_CHECKING:
    from brokerwise.model.fleet import Bandwidth, Fleet
    from brokerwise.pipeline.fill import WeightFiles
    from brokerwise.storage.workload import WorkloadHeader

_EXPECTED = "COUNTxSIZE such as 10x500 or 10x64Mbit/s, or several: 10x500,4x200"
_PART = re.compile(r"\s*([+-]?[0-9]+)\s*[xX]\s*(.+?)\s*")


@dataclass(frozen=True)
class FleetRequest:
    """Which brokers there are: so many of a size, or bandwidth to be split."""

    brokers: str | None
    total_bandwidth: str | None
    max_broker: str | None

    def __post_init__(self) -> None:
        if (self.brokers is None) == (self.total_bandwidth is None):
            found = "neither" if self.brokers is None else "both"
            raise InputError(
                f"found {found} of --brokers and --total-bandwidth, expected one",
                hint="Such as --brokers 10x500, or "
                "--total-bandwidth 5000 --max-broker 500.",
            )
        if self.brokers is not None and self.max_broker is not None:
            raise InputError("--max-broker goes with --total-bandwidth")
        if self.total_bandwidth is not None and self.max_broker is None:
            raise InputError(
                "--total-bandwidth needs --max-broker, the size of the largest "
                "broker: else one broker for all of it is always best"
            )

    def fleet(self, header: "WorkloadHeader") -> "Fleet | Bandwidth":
        """The brokers in the units of a workload."""
        from brokerwise.model.fleet import Bandwidth

        measures = header.period_seconds, header.message_bytes
        if self.brokers is not None:
            return parse_brokers(self.brokers, *measures)
        assert self.total_bandwidth is not None
        assert self.max_broker is not None
        return Bandwidth(
            parse_capacity(self.total_bandwidth, *measures, "--total-bandwidth"),
            parse_capacity(self.max_broker, *measures, "--max-broker"),
        )


@dataclass(frozen=True)
class Request:
    """All that changes what is done, but for how it is computed."""

    workload: str
    fleet: FleetRequest
    topic_weights: str | None
    subscriber_weights: str | None
    out: str
    force: bool
    report: Path | None

    def __post_init__(self) -> None:
        refuse_wrong_places(self.workload, self.out, self.report)

    def weight_files(self) -> "WeightFiles":
        from brokerwise.pipeline.fill import WeightFiles
        from brokerwise.storage.place import Place

        named = (self.topic_weights, self.subscriber_weights)
        return WeightFiles(*(None if path is None else Place(path) for path in named))


def parse_brokers(text: str, period_seconds: int, message_bytes: int) -> "Fleet":
    """`10x500,4x200`: brokers of each size; a size that is there twice is one type."""
    from brokerwise.model.fleet import BrokerType, Fleet

    if not text.strip():
        raise InputError(f"--brokers: found none, expected {_EXPECTED}")
    counts: dict[int, int] = {}
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise InputError(f"--brokers: found {part!r}, expected {_EXPECTED}")
        field = f"of --brokers {part.strip()}"
        count = checked_count(int(match[1]), f"count {field}", least=1)
        size = parse_capacity(match[2], period_seconds, message_bytes, f"size {field}")
        counts[size] = counts.get(size, 0) + count
    return Fleet(
        tuple(BrokerType(f"broker-{size}", size, n) for size, n in counts.items())
    )
