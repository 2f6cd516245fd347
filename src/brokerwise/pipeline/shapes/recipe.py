"""All that a trace is made from, but the trace itself."""

from dataclasses import dataclass

import numpy as np

from brokerwise.kernels.sampling import Bins
from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.pipeline.shapes.followings import followings, followings_cdf
from brokerwise.pipeline.shapes.popularity import drawing_bins, popularity
from brokerwise.pipeline.shapes.published import Size
from brokerwise.pipeline.shapes.rates import rates_by_rank
from brokerwise.pipeline.shapes.scatter import GOLDEN, SILVER, Scatter

BLOCK = 65_536
_SHIFTS, _PAIRS = 0, 1  # what a stream of random numbers is for


@dataclass(frozen=True, eq=False)
class Recipe:
    """Makes any block of a trace, alone, anywhere, always the same.

    A block is 65,536 subscribers and has its own stream of random numbers. Weighs
    about a megabyte at any scale.
    """

    size: Size
    seed: int
    cdf: Float64s
    bins: Bins
    numbering: Scatter
    strata: Scatter

    @property
    def blocks(self) -> int:
        return -(-self.size.subscribers // BLOCK)

    def block(self, number: int) -> tuple[Int64s, Int64s]:
        """The topic and the subscriber of each pair of a block.

        Grouped by subscriber; its topics are in the order drawn.
        """
        first = number * BLOCK
        subscribers = np.arange(first, min(first + BLOCK, self.size.subscribers))
        random = _random(self.seed, _PAIRS, number)
        quantiles = self.strata(subscribers) + random.random(len(subscribers))
        counts = followings(self.cdf, quantiles / self.size.subscribers)
        ranks = self.bins.draw(counts, int(random.integers(2**63)))
        topics = self.numbering(ranks.astype(np.int64))
        return topics, np.repeat(subscribers, counts)


def make_recipe(size: Size, seed: int) -> tuple[Recipe, Int64s]:
    """The recipe for the pairs, and the rates by topic number.

    Followings are drawn one from each of as many equal strata as there are
    subscribers, so that their distribution hardly depends on the seed.
    """
    wanted = popularity(size)
    cdf = followings_cdf(size)
    shifts = _random(seed, _SHIFTS).integers(2**31, size=3).tolist()
    numbering = Scatter.of(size.topics, GOLDEN, shifts[0])
    recipe = Recipe(
        size,
        seed,
        cdf,
        drawing_bins(size, wanted, cdf),
        numbering,
        Scatter.of(size.subscribers, GOLDEN, shifts[1]),
    )
    ranks = np.arange(size.topics)
    luck = (Scatter.of(size.topics, SILVER, shifts[2])(ranks) + 0.5) / size.topics
    rates = np.empty(size.topics, np.int64)
    rates[numbering(ranks)] = rates_by_rank(size, wanted.by_rank(), luck)
    return recipe, rates


def _random(seed: int, *key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
