"""What a search ends with."""

from dataclasses import dataclass

from brokerwise.planners.fill.draft import Draft


@dataclass(frozen=True, eq=False)
class Found:
    """The best draft, a bound that none exceeds, and whether it was stopped."""

    draft: Draft
    bound: int
    stopped: bool = False
    patterns: int = 0
