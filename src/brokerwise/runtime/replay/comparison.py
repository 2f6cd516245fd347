"""What was seen of a replay, beside what was planned: are they the same?"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TypeVar

from brokerwise.runtime.replay.arrivals import Findings
from brokerwise.runtime.replay.traffic import Traffic

K = TypeVar("K")


@dataclass(frozen=True)
class Difference:
    """A count that is not what was planned. `what` is a field of Traffic, `of` what
    it is counted by, such as broker and topic."""

    what: str
    of: str
    planned: int
    seen: int


@dataclass(frozen=True)
class Figure:
    """A sum, as the plan itself states it and as it was seen."""

    planned: int
    seen: int


@dataclass(frozen=True)
class Latencies:
    """End to end, from the publisher's clock to the subscriber's, in milliseconds."""

    p50: float
    p90: float
    p99: float


@dataclass(frozen=True)
class Outcome:
    """All that came of a replay. `loads` are those of brokers; `cost` is that of all
    links, in thousandths; None unless the plan is an overlay."""

    messages: int
    planned: Traffic
    seen: Traffic
    loads: Mapping[str, Figure]
    findings: Findings
    latencies: Latencies
    seconds: float
    cost: Figure | None = None

    @property
    def differences(self) -> list[Difference]:
        return list(differences(self.planned, self.seen))

    @property
    def ok(self) -> bool:
        """Everything as planned, message for message, and nothing lost or doubled."""
        sums = [*self.loads.values(), *([self.cost] if self.cost else [])]
        return (
            self.findings == Findings()
            and all(load.planned == load.seen for load in sums)
            and not self.differences
        )


def differences(planned: Traffic, seen: Traffic) -> Iterator[Difference]:
    """Every count that is not as planned, field by field and in order."""
    for field in fields(Traffic):
        yield from _between(
            field.name, getattr(planned, field.name), getattr(seen, field.name)
        )


def since(before: Traffic, after: Traffic) -> Traffic:
    """What was counted between two looks at counters that only rise."""
    return Traffic(
        *(
            _risen(getattr(before, f.name), getattr(after, f.name))
            for f in fields(Traffic)
        )
    )


def _between(
    what: str, planned: Mapping[K, int], seen: Mapping[K, int]
) -> Iterator[Difference]:
    for key in sorted({*planned, *seen}, key=_shown):
        counts = planned.get(key, 0), seen.get(key, 0)
        if counts[0] != counts[1]:
            yield Difference(what, _shown(key), *counts)


def _risen(before: Mapping[K, int], after: Mapping[K, int]) -> dict[K, int]:
    risen = {key: count - before.get(key, 0) for key, count in after.items()}
    return {key: count for key, count in risen.items() if count}


def _shown(key: object) -> str:
    return " ".join(key) if isinstance(key, tuple) else str(key)
