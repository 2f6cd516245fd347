"""What Nguyen et al. (DEBS 2019) publish of their experiments.

Figures 5 to 14 are plots whose values are not printed; what is known of them is what
the text says: settings, a few numbers, and which scheme does better than which.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """What the text says of figures; `key` is how it is checked."""

    key: str
    figures: str
    text: str


BROKERS, SUBSCRIBERS = 10, 10_000
"""Of the simulation."""
CROWDED, SPARSE = 2_000, 500
"""Nearest placement: one broker has more subscribers, others have fewer."""
ALPHA, BETA = 0.15, 300e6
"""Of LDM in Figure 13; bytes a second."""
LEAST_ALPHA = 0.05
"""The smallest of Figure 14."""

CLAIMS = (
    Claim(
        "slight",
        "5, 6, 7",
        "with random and round-robin placement load is less skewed, and LDM and SDM "
        "still lower cov and max load, with few migrations",
    ),
    Claim(
        "extreme",
        "8, 10",
        "nearest placement is extremely unbalanced, and LDM and SDM repair it",
    ),
    Claim("similar", "6, 10", "LDM and SDM do about equally well"),
    Claim(
        "early",
        "9, 11",
        "a shuffle at an early stage leaves fewer migrations to do later",
    ),
    Claim("little", "11", "LDM or SDM with the shuffle are not much better than alone"),
    Claim(
        "many",
        "12",
        "nearest placement needs many more migrations than random and round-robin, "
        "with LDM and with SDM",
    ),
    Claim(
        "crowded",
        "13 (1)",
        "nearest placement gives one broker more than 2,000 subscribers, others fewer "
        "than 500",
    ),
    Claim(
        "once",
        "13 (2), (3)",
        "LDM and GSH both end balanced; GSH at once and without further migrations, "
        "LDM later",
    ),
    Claim(
        "small",
        "14 (1)",
        "with alpha 0.05 and beta 300 MB/s LDM ends as balanced as GSH",
    ),
    Claim(
        "sensitive",
        "14",
        "the smaller alpha and beta, the lower cov and the more migrations",
    ),
)
