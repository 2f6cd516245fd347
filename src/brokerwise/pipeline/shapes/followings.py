"""How many topics a subscriber follows."""

import math

import numpy as np

from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.pipeline.shapes.published import Size
from brokerwise.pipeline.shapes.solving import crossing

DEFAULT = 20
LIMIT = 2000
MOST = 185_000  # whoever follows so many receives about 18 million events


def followings_cdf(size: Size) -> Float64s:
    """The share of subscribers that follow at most 1, 2, ... topics; ends with 1.

    The mean is the shape's at every scale: where there are too few topics for the
    longest lists, the others grow. Every subscriber follows at least one.
    """
    most = min(MOST, size.topics)

    def excess(log_bend: float) -> float:
        return float(_more_than(size, most, math.exp(log_bend)).sum()) - mean

    mean = size.shape.followings
    bend = math.exp(crossing(excess, math.log(1e-3), math.log(1e9)))
    return 1 - _more_than(size, most, bend)[1:]


def followings(cdf: Float64s, quantiles: Float64s) -> Int64s:
    """The followings of subscribers at these quantiles, each in [0, 1)."""
    return np.minimum(np.searchsorted(cdf, quantiles, side="right") + 1, len(cdf))


def _more_than(size: Size, most: int, bend: float) -> Float64s:
    """The share that follows more than 0, 1, ..., `most` topics.

    A power law that is flat up to about `bend`, cut at `most`, with the two bumps.
    """
    shape = size.shape
    count = np.arange(most + 1)
    share = (1 + count / bend) ** -shape.decay
    share = (share - share[-1]) / (1 - share[-1])
    share[LIMIT:] *= 1 - shape.at_limit
    by_default = np.where(count < DEFAULT, shape.at_default, 0.0)
    return np.asarray((1 - shape.at_default) * share + by_default)
