"""What Setty et al. (ICDCS 2014; University of Oslo, research report 436) measured.

Two traces: a tenth of Spotify's users at one of its sites, and a hundredth of
Twitter's. Figures 2 and 3 are bars whose values the text gives only in part: what is
here is what the text says.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from brokerwise.model.fleet import BrokerType, Fleet

THRESHOLDS = (10, 100, 1000)
NAIVE_VMS = 100
NAIVE_THRESHOLD = 100
"""Each trace gets the capacity at which the naive plan needs so many c3.large at this
threshold: the paper has about a hundred, with a scaling that it does not give."""

GIGABYTE_USD = 0.12
PERIOD_SECONDS = 864_000
MESSAGE_BYTES = 200


@dataclass(frozen=True)
class VmType:
    """A rented machine; `times` is its bandwidth in units of the smaller one's."""

    name: str
    hour_usd: float
    times: int

    def fleet(self, capacity: int) -> Fleet:
        """As many as it takes, if the smaller type carries `capacity`."""
        kind = BrokerType(self.name, self.times * capacity, hour_usd=self.hour_usd)
        return Fleet.types(kind, gigabyte_usd=GIGABYTE_USD)


VM_TYPES = (VmType("c3.large", 0.15, 1), VmType("c3.xlarge", 0.30, 2))


@dataclass(frozen=True)
class Published:
    """Figures of one trace, in percent unless said otherwise.

    Attributes
    ----------
    savings
        Cost that greedy selection saves over random, both with first-fit packing:
        of each VM type, at each threshold.
    steps
        What each further optimisation takes off cost and bandwidth, in the text's
        words; negative: it adds to it.
    whole
        The most that all of them together take off the naive plan's cost.
    above_bound
        Their cost above their bound, "in many cases".
    faster
        How many times faster `custom` packs than `first-fit`, at most.
    seconds
        What the text says of run times.
    """

    savings: Mapping[str, Mapping[int, float]]
    steps: Mapping[str, Mapping[str, str]]
    whole: float
    above_bound: float
    faster: int
    seconds: str

    def as_json(self) -> dict[str, Any]:
        found = asdict(self)
        found["savings"] = {
            kind: {str(t): saved for t, saved in by.items()}
            for kind, by in self.savings.items()
        }
        return found


PUBLISHED = {
    "spotify": Published(
        savings={
            "c3.large": {10: 33.0, 100: 27.6, 1000: 10.9},
            "c3.xlarge": {10: 32.7, 100: 17.6, 1000: 10.8},
        },
        steps={
            "cost": {
                "(b)": "-1.6 to 3.5",
                "(c)": "up to 2.5",
                "(d)": "up to 10.7",
                "(e)": "up to 1.2",
            },
            "bandwidth": {"(b)": "8 to 10"},
        },
        whole=38.0,
        above_bound=15.0,
        faster=10,
        seconds="stage 1: greedy at most 2 s slower than random; all under 30 s",
    ),
    "twitter": Published(
        savings={
            "c3.large": {10: 71.0, 100: 51.4, 1000: 29.1},
            "c3.xlarge": {10: 70.0, 100: 51.9, 1000: 20.3},
        },
        steps={
            "cost": {
                "(b)": "slight",
                "(c)": "up to 2.4",
                "(d)": "up to 9.5",
                "(e)": "up to 0.2",
            },
            "bandwidth": {"(b)": "8 in a case"},
        },
        whole=74.0,
        above_bound=15.0,
        faster=1000,
        seconds=(
            "stage 1: random up to 986 s, greedy up to 1471 s; at threshold 1000 on "
            "c3.large, greedy + custom 1484.7 s, random + first-fit 2186 s"
        ),
    ),
}

# What ours is to come to: bandwidth over the certified bound on it.
AIMS = {"spotify": 1.005, "twitter": 1.01, "mastodon": 1.005}
SPARE_VMS = 1
"""And brokers: at most so many more than could carry that bound."""
