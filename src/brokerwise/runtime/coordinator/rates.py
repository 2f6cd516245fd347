"""What topics bring, from what brokers measure, who may only just have begun."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp

from brokerwise.runtime.protocol.fleet import BalancePage

AVERAGE_SECONDS = 60.0  # as the averages of brokers
_FORGOTTEN = 0.001  # weight of what is as good as unknown


@dataclass(frozen=True)
class _Remembered:
    rate: float
    weight: float
    at: float

    def weight_at(self, now: float) -> float:
        return self.weight * exp(-max(0.0, now - self.at) / AVERAGE_SECONDS)


class Rates:
    """Bytes a second of each topic.

    When the last session of a topic leaves a broker, the next one has only begun to
    measure. So the last good value counts too, less the older it is and the better the
    new one: that which the broker before has kept, or, as it may be gone by then, the
    one that was seen here last. How often it is asked does not change what it says.
    """

    def __init__(self) -> None:
        self._remembered: dict[str, _Remembered] = {}

    def learn(self, pages: Sequence[BalancePage], now: float) -> Mapping[str, float]:
        """Of all topics of the pages: the mean of what brokers measured, by weight."""
        for page in pages:
            for topic, rate, weight in page.left:
                self._keep(topic, _Remembered(rate, weight, now))
        found = {}
        for topic, (rate, weight) in _measured(pages).items():
            found[topic] = self._learn(topic, rate, weight, now)
        self._remembered = {
            topic: known
            for topic, known in self._remembered.items()
            if topic in found or known.weight_at(now) > _FORGOTTEN
        }
        return found

    def _learn(self, topic: str, rate: float, weight: float, now: float) -> float:
        self._keep(topic, _Remembered(rate, weight, now))
        known = self._remembered[topic]
        old = min(known.weight_at(now), 1.0 - weight)
        if not weight + old:
            return rate
        return (rate * weight + known.rate * old) / (weight + old)

    def _keep(self, topic: str, new: _Remembered) -> None:
        known = self._remembered.get(topic)
        if known is None or new.weight >= known.weight_at(new.at):
            self._remembered[topic] = new


def _measured(pages: Sequence[BalancePage]) -> dict[str, tuple[float, float]]:
    """The mean of each topic over its brokers, and the weight of the best of them:
    all measure the same stream."""
    sums: dict[str, tuple[float, float, float]] = {}
    for page in pages:
        for topic, rate, weight in page.topics:
            total, weights, best = sums.get(topic, (0.0, 0.0, 0.0))
            sums[topic] = total + rate * weight, weights + weight, max(best, weight)
    return {t: (s / (w or 1.0), best) for t, (s, w, best) in sums.items()}
