"""How much each subscription of a scenario brings, over time. Pure."""

from dataclasses import dataclass

import numpy as np

from brokerwise.experiments.emergency.definitions import CHANNELS, channel_named
from brokerwise.experiments.emergency.result_bytes import result_bytes
from brokerwise.experiments.emergency.scenario import Scenario
from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.runtime.protocol.names import parse_channel_topic

PERIOD_SECONDS = 60
"""What rates are counted over, and how far back they look: as a broker's do."""
STEP_SECONDS = min(channel.period for channel in CHANNELS)
"""Between two changes of rates. All periods are multiples of it."""


@dataclass(frozen=True, eq=False)
class SubscriptionRates:
    """`rates[i, k]`: the bytes that topic k has brought in the minute before
    `times[i]`; scaled up where less than a minute has passed."""

    topics: tuple[str, ...]
    times: Float64s
    rates: Int64s

    def topic_numbers(self) -> dict[str, int]:
        return {topic: number for number, topic in enumerate(self.topics)}


def subscription_rates(scenario: Scenario) -> SubscriptionRates:
    """Of all topics that a scenario's users subscribe to, in order of name."""
    brought = result_bytes(scenario)
    topics = tuple(brought)
    steps = int(scenario.settings.seconds // STEP_SECONDS) + 1
    arrived = np.zeros((steps, len(topics)), np.int64)
    for number, topic in enumerate(topics):
        period = channel_named(parse_channel_topic(topic)[0]).period
        every = round(period / STEP_SECONDS)
        runs = brought[topic]
        arrived[every::every, number][: len(runs)] = runs
    times = np.arange(steps, dtype=np.float64) * STEP_SECONDS
    return SubscriptionRates(topics, times, _by_the_minute(arrived, times))


def _by_the_minute(arrived: Int64s, times: Float64s) -> Int64s:
    """Sums over the minute before each time."""
    back = round(PERIOD_SECONDS / STEP_SECONDS)
    until = np.cumsum(arrived, axis=0)
    before = np.zeros_like(until)
    before[back:] = until[:-back]
    looked = np.clip(times, STEP_SECONDS, PERIOD_SECONDS).astype(np.int64)
    found: Int64s = (until - before) * PERIOD_SECONDS // looked[:, None]
    return found
