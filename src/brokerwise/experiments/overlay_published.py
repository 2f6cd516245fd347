"""What Zhao and Wu (IEEE SECON 2011) print.

Figures 9 and 10 are plots without numbers; what is known of them is the text's order
of the algorithms. Table I is all there is in numbers.
"""

from collections.abc import Mapping

MIXING = "mixing"
ORDER = (MIXING, "clustering", "greedy")
"""From the largest cost reduction ratio to the smallest, which is above that of random
(1). Theirs of Figure 9, and of Figure 10 at ratio 1. Their mixing is `steiner_literal`;
`steiner` is our variant of it."""

SAMPLES = 100
"""Networks of each setting."""

TABLE_I: Mapping[str, float] = {
    "random": 0.9,
    "greedy": 91.445,
    "clustering": 100.235,
    "steiner_literal": 179.654,
}
"""Seconds at 10,000 users, 100 brokers and ratio 1: C++ without optimisation, one core
of a processor of 2008."""
