"""Which topics are no lighter than others, in every respect."""

import numpy as np

from brokerwise.kernels.compile import kernel
from brokerwise.model.arrays import Bools, Float64s, Int32s


@kernel
def heavier(sizes: Float64s, these: Int32s, than: Int32s) -> Bools:
    """Whether each of `these` is no lighter than some of `than`, in no respect.

    `sizes` has a row for each respect and a column for each topic.
    """
    found = np.zeros(len(these), np.bool_)
    for at in range(len(these)):
        for other in range(len(than)):
            no_lighter = True
            for respect in range(len(sizes)):
                if sizes[respect, these[at]] < sizes[respect, than[other]]:
                    no_lighter = False
                    break
            if no_lighter:
                found[at] = True
                break
    return found
