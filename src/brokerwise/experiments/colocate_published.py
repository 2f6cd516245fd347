"""What Khare et al. print: their settings, and what they found.

"Scalable Edge Computing for Low Latency Data Dissemination in Topic-based
Publish/Subscribe" (SEC 2018).
"""

from collections.abc import Mapping
from dataclasses import dataclass

PROCESSING_MS = (10.0, 20.0, 30.0, 40.0)
CORES = 4
RATE_EACH = 1.0
MESSAGES = 120
TARGET_MS = 1000.0
K = 6
OPENING = 3
ALONE, ALONE_TEST_SHARE = 180, 0.4
CONFIGURATIONS, TEST_SHARE, VALIDATION = 1000, 0.05, 50
TOPICS = (10, 20, 30, 40, 50, 60, 70)
REQUESTS = 5
OPENINGS_TOPICS = 50
SUBSCRIBERS = 240

BACKGROUND_MS = (72.0, 180.0)
"""Figure 1b: p90 of a topic without and with all the topics beside it."""
THRESHOLDS = {0: 38, 7: 15, 11: 8}
"""Figure 1d: the rate up to which p90 is low, by the number of topics beside it."""
MOST_RATES = {10.0: 78, 20.0: 37, 30.0: 24, 40.0: 20}
"""The largest rate of a topic alone with a p90 within a second, by processing time."""
ACCURACY: Mapping[int, tuple[float, float, float | None]] = {
    1: (0.975, 0.97, None),
    2: (0.987, 0.985, 0.972),
    3: (0.985, 0.978, 0.976),
    4: (0.983, 0.979, 0.984),
    5: (0.981, 0.978, 0.951),
    6: (0.981, 0.956, 0.968),
}
"""R^2 on training, test and validation data: Table I, and the text for k = 1."""
CURVE_ERROR = 0.03
MISSED = {"3": (0.09, 0.13), "4": (0.06, 0.12)}
"""Shares of messages and of topics that miss the target, at most, by figure."""


@dataclass(frozen=True)
class Claim:
    """What the paper says of a figure."""

    key: str
    figures: str
    text: str


CLAIMS = (
    Claim(
        "subscribers",
        "Fig. 1a",
        "latency grows with the number of subscribers, but 240 of them cost little",
    ),
    Claim(
        "background",
        "Fig. 1b",
        "topics beside it raise a topic's p90 from 72 to 180 ms, well below a second "
        "even when the processor is saturated",
    ),
    Claim(
        "knee",
        "Fig. 1c",
        "latency grows slowly up to a threshold rate and very fast beyond it",
    ),
    Claim(
        "threshold",
        "Fig. 1d",
        "the threshold rate at 20 ms falls with the topics beside it: 38, 15 and 8 "
        "messages/s beside 0, 7 and 11",
    ),
    Claim(
        "rates",
        "Fig. 2a",
        "a topic alone stays within a second up to 78, 37, 24 and 20 messages/s",
    ),
    Claim("accuracy", "Table I", "the learned models have an accuracy of about 97 %"),
    Claim(
        "separate",
        "Table I",
        "a model for each k is more accurate than one model for all",
    ),
    Claim(
        "curves",
        "Fig. 2e, 2f",
        "errors in training and validation both come down to about 3 %",
    ),
    Claim(
        "mistakes",
        "Fig. 2c, 2d",
        "the models make mistakes of both kinds: false negatives and false positives",
    ),
    Claim("similar", "Fig. 3a", "the three heuristics need about as many brokers"),
    Claim(
        "fewest", "Fig. 3a", "LFS uses fewer brokers than the other two in most cases"
    ),
    Claim("times", "Fig. 3b", "the hybrid takes less time than LFS and more than FFD"),
    Claim("cpu", "Fig. 3c", "average processor use varies little between heuristics"),
    Claim(
        "latency",
        "Fig. 3d",
        "LFS has the lowest average p90 for every number of topics",
    ),
    Claim(
        "missed",
        "Fig. 3e, 3f",
        "no more than 9 % of the messages and 13 % of the topics miss the target",
    ),
    Claim("opening", "Fig. 4a", "for higher k' the hybrid uses fewer brokers"),
    Claim("slower", "Fig. 4b", "planning takes longer for higher k'"),
    Claim("steady", "Fig. 4c", "average processor use varies little with k'"),
    Claim("compact", "Fig. 4d", "average p90 is higher for higher k'"),
    Claim(
        "missed4",
        "Fig. 4e, 4f",
        "no more than 6 % of the messages and 12 % of the topics miss the target",
    ),
)
