"""What is known of the two traces that provisioning was first measured on.

Setty, Vitenberg, Kreitz, Urdaneta, van Steen (2014), "Cost-effective resource
allocation for deploying pub/sub on cloud", University of Oslo, research report 436.
Twitter's facts are in appendix D. Neither trace can be had any more.

Twitter, ten days: 8 million active users are the topics, 30 million subscribers,
683.5 million pairs, 455 million events. 66 topics have over a million followers,
about 4000 over ten thousand. Subscribers pile up at 20 followings (the default of
those days) and at 2000 (the limit); about 550 follow more than 10,000. About half of
the topics have fewer than 10 events, 46,000 more than 1000, one more than 100,000.
The mean rate grows with followers up to 100,000 and is lower beyond. About 3 million
subscribers receive more than 7000 events, one 18 million.

Spotify: 1.1 million topics, 4.9 million subscribers, 12 million pairs; nothing else
is published. We take Twitter's curves relative to the mean number of followers.
"""

from dataclasses import dataclass

from brokerwise.model.errors import InputError

SMALLEST_SCALE = 0.00001  # under it there are too few topics for the lists
LARGEST_SCALE = 10.0


@dataclass(frozen=True)
class Shape:
    """A trace at scale 1, and how its followings are spread.

    The share of subscribers with more than k followings falls like k ** -decay.
    `at_default` of all follow exactly 20; `at_limit` of those who would follow more
    than 2000 stop there.
    """

    name: str
    topics: int
    subscribers: int
    pairs: int
    decay: float
    at_default: float = 0.0
    at_limit: float = 0.0

    @property
    def followings(self) -> float:
        """Topics per subscriber, on average."""
        return self.pairs / self.subscribers

    @property
    def followers(self) -> float:
        """Subscribers per topic, on average."""
        return self.pairs / self.topics


# With this decay 550 subscribers follow more than 10,000 topics.
TWITTER = Shape(
    name="twitter",
    topics=8_000_000,
    subscribers=30_000_000,
    pairs=683_500_000,
    decay=1.51,
    at_default=0.03,
    at_limit=0.5,
)
# With this one 6 in 10 follow one topic and 2 in 10 follow two.
SPOTIFY = Shape(
    name="spotify",
    topics=1_100_000,
    subscribers=4_900_000,
    pairs=12_000_000,
    decay=2.0,
)
SHAPES = {shape.name: shape for shape in (SPOTIFY, TWITTER)}


@dataclass(frozen=True)
class Size:
    """A shape at a scale, which multiplies topics, subscribers and pairs."""

    shape: Shape
    scale: float

    def __post_init__(self) -> None:
        if not SMALLEST_SCALE <= self.scale <= LARGEST_SCALE:
            least = Size(self.shape, SMALLEST_SCALE)
            raise InputError(
                f"--scale: found {self.scale:g}, expected a number from "
                f"{SMALLEST_SCALE:.5f} to {LARGEST_SCALE:g}; nothing was written",
                details=[
                    f"scale 1 is {self.shape.topics:,} topics and "
                    f"{self.shape.subscribers:,} subscribers",
                    f"scale {SMALLEST_SCALE:.5f} is {least.topics:,} topics and "
                    f"{least.subscribers:,} subscribers",
                ],
            )

    @property
    def topics(self) -> int:
        return round(self.shape.topics * self.scale)

    @property
    def subscribers(self) -> int:
        return round(self.shape.subscribers * self.scale)

    @property
    def pairs(self) -> float:
        """As many as are expected; what is drawn differs a little."""
        return self.shape.followings * self.subscribers
