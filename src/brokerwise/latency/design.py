"""Which configurations latency data is made of: how many, of which topics."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from brokerwise.latency.drawing import Configuration, draw, draw_loaded, up_to_load
from brokerwise.model.errors import InputError

PAPER, LOADED, MIXED = WAYS = ("paper", "loaded", "mixed")
"""As `draw` does, as `draw_loaded` does, or both in turn."""

MOST_LOAD = 1.1
"""Of one topic alone, as a share of the core that its worker can use."""

_MOST_TOPICS = 32


@dataclass(frozen=True)
class Design:
    """Configurations of several numbers of topics.

    Attributes
    ----------
    topics
        Numbers of topics, ascending.
    each
        Configurations of each of them.
    processing
        The processing times (ms) that topics may have.
    way
        One of WAYS; topics alone are always on a grid.
    target_ms
        Sets how many publishers topics of PAPER have at most: as many as meet this
        target when the topic is alone.
    """

    topics: tuple[int, ...]
    each: int
    processing: tuple[float, ...]
    way: str = MIXED
    target_ms: float = 250.0
    seed: int = 0

    def __post_init__(self) -> None:
        if (
            not self.topics
            or not 1 <= min(self.topics) <= max(self.topics) <= _MOST_TOPICS
        ):
            raise InputError(
                f"topics of a configuration: found {list(self.topics)}, expected "
                f"numbers from 1 to {_MOST_TOPICS}"
            )
        if self.each < 1:
            raise InputError(f"configurations: found {self.each}, expected at least 1")
        if self.way not in WAYS:
            raise InputError(
                f"way to draw: found {self.way!r}, expected {', '.join(WAYS)}"
            )
        if not 0 < self.target_ms < np.inf:
            raise InputError(
                f"target: found {self.target_ms:g} ms, expected a number above 0"
            )

    def alone(self, rate_each: float) -> list[Configuration]:
        """One topic, from hardly any load to more than its worker can do."""
        most = up_to_load(MOST_LOAD, processing=self.processing, rate_each=rate_each)
        return draw(self.each, 1, processing=self.processing, most=most, seed=self.seed)

    def sharing(
        self, k: int, most: Mapping[float, int], *, rate_each: float, cores: int
    ) -> list[Configuration]:
        """Configurations of k topics, no topic of which has more publishers than
        `most` allows in the paper's way."""
        drawn = draw(
            self.each, k, processing=self.processing, most=most, seed=self.seed
        )
        loaded = draw_loaded(
            self.each,
            k,
            processing=self.processing,
            rate_each=rate_each,
            cores=cores,
            seed=self.seed,
        )
        if self.way == MIXED:
            return list(_in_turn(drawn, loaded))
        return drawn if self.way == PAPER else loaded


def _in_turn(
    first: list[Configuration], second: list[Configuration]
) -> Iterator[Configuration]:
    for i in range(len(first)):
        yield (second if i % 2 else first)[i // 2]
