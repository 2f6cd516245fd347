"""What Zhao and Wu (IEEE SECON 2011) print.

Figures 9 and 10 are plots without numbers; what is known of them is the text's order
of the algorithms. Table I is all there is in numbers.
"""

from collections.abc import Mapping

ORDER = ("steiner", "clustering", "greedy")
"""From the largest cost reduction ratio to the smallest, which is above that of random
(1): mixing is ours' `steiner`. Theirs of Figure 9, and of Figure 10 at ratio 1."""

SAMPLES = 100
"""Networks of each setting."""

TABLE_I: Mapping[str, float] = {
    "random": 0.9,
    "greedy": 91.445,
    "clustering": 100.235,
    "steiner": 179.654,
}
"""Seconds at 10,000 users, 100 brokers and ratio 1: C++ without optimisation, one core
of a processor of 2008."""
