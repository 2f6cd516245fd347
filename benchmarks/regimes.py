"""The default of `provision` against every selection and packing, over 40 regimes.

Regimes differ in how large topics are against brokers (10^-6 to a half of one), in how
far subscribers share topics, in their number, and in what the fleet has. For each: what
the default comes to, what each combination does, the certified bound, and the optimum
where a mixed-integer program (HiGHS) finds it in a moment. The last line says whether
the default was ever dearer than a combination; the exit code is 1 if it was.

    python -m benchmarks.regimes [--only TEXT] [--json]
"""

from dataclasses import dataclass

import numpy as np

from brokerwise.model.fleet import BrokerType, Fleet
from brokerwise.model.workload import Workload
from brokerwise.planners.provision.solve import Problem


@dataclass(frozen=True)
class Regime:
    """A way to draw problems.

    Attributes
    ----------
    size
        The largest rate, as a share of a broker's capacity.
    topics
        Of which each subscriber wants `wanted`; 0: nobody shares a topic.
    smallest
        The smallest rate, as a share of the largest.
    threshold
        What each subscriber is to get, as a share of what it wants on average.
    spare
        Limits the fleet: to so many brokers more than the load needs at least.
    usd
        Of a broker for a period, and of one unit of load.
    mixed
        Brokers of half and of twice the capacity too, a little dearer for their size.
    """

    name: str
    size: float
    subscribers: int = 40
    wanted: int = 20
    topics: int = 200
    smallest: float = 0.001
    threshold: float = 0.3
    spare: int | None = None
    usd: tuple[float, float] = (36.0, 2.4e-8)
    mixed: bool = False
    seed: int = 1

    def problem(self) -> Problem:
        rng = np.random.default_rng(self.seed)
        most = 1000
        least = max(1, round(self.smallest * most))
        people, each = self.subscribers, self.wanted
        topics = self.topics or people * each
        rates = rng.integers(least, most + 1, topics)
        rates[0] = most
        if self.topics:
            drawn = [rng.permutation(topics)[:each] for _ in range(people)]
            wanted = np.concatenate(drawn)
        else:
            wanted = np.arange(topics)
        workload = Workload.from_pairs(
            topics=[f"t{t:06d}" for t in wanted],
            subscribers=[f"v{v:05d}" for v in np.repeat(np.arange(people), each)],
            rates={f"t{t:06d}": int(rate) for t, rate in enumerate(rates)},
        )
        needed = int(self.threshold * rates[wanted].sum() / people)
        return Problem(workload, self._fleet(needed), needed)

    def _fleet(self, needed: int) -> Fleet:
        capacity = int(1000 / self.size)
        limit = None
        if self.spare is not None:
            limit = max(1, -(-needed * self.subscribers // capacity) + self.spare)
        hour, unit = self.usd[0] / 240, self.usd[1] / 200 * 1e9
        kinds = [BrokerType("b", capacity, limit, hour)]
        if self.mixed:
            kinds.append(BrokerType("half", capacity // 2, limit, hour * 0.55))
            kinds.append(BrokerType("twice", capacity * 2, limit, hour * 2.1))
        return Fleet.types(*kinds, gigabyte_usd=unit)
