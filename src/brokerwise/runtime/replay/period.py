"""One period of an approved plan: what is published, and what the plan says of it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from brokerwise.model.network import Network
from brokerwise.model.overlay import OverlayPlan
from brokerwise.model.plan import Plan
from brokerwise.model.workload import Workload
from brokerwise.runtime.fleet.approval import ApprovedPlan
from brokerwise.runtime.fleet.seeds import subchannel
from brokerwise.runtime.protocol.seed import Seed
from brokerwise.runtime.replay.traffic import Publication, Traffic, planned_traffic


@dataclass(frozen=True)
class Period:
    """What is replayed, and what is expected of it.

    Attributes
    ----------
    loads
        Of each broker, as the plan states them.
    message_bytes
        Of each message, 0 if nobody said.
    objective
        Cost of all links in thousandths, as an overlay plan states it; else None.
    access, core
        Cost of a message, in thousandths: of a user to or from its broker, and
        between two brokers.
    """

    seed: Seed
    seconds: int
    published: tuple[Publication, ...]
    planned: Traffic
    loads: Mapping[str, int]
    message_bytes: int = 0
    objective: int | None = None
    access: Mapping[str, int] = field(default_factory=dict)
    core: Mapping[tuple[str, str], int] = field(default_factory=dict)

    @property
    def messages(self) -> int:
        return sum(p.count for p in self.published)

    def loads_of(self, seen: Traffic) -> dict[str, int]:
        """What brokers carried, by the load law of the plan: messages taken in and
        given out; of an overlay those of users, not what brokers pass to brokers."""
        loads = Counter[str](dict.fromkeys(self.loads, 0))
        if self.objective is None:
            for (broker, _), count in (*seen.received.items(), *seen.delivered.items()):
                loads[broker] += count
        else:
            homes = {s.user: s.broker for s in self.seed.sessions}
            for user, count in (*seen.sent.items(), *seen.got.items()):
                loads[homes.get(user, "elsewhere")] += count
        return dict(loads)

    def cost_of(self, seen: Traffic) -> int:
        """Messages on each link times what one costs there."""
        users = (*seen.sent.items(), *seen.got.items())
        access = sum(count * self.access.get(user, 0) for user, count in users)
        links = seen.forwarded.items()
        return access + sum(count * self.core.get(link, 0) for link, count in links)


def period_of(approved: ApprovedPlan) -> Period:
    """The period of a plan of any kind that runs."""
    match approved:
        case ApprovedPlan(Plan() as plan, Workload() as workload):
            return _placed(approved.seed, plan, workload)
        case ApprovedPlan(OverlayPlan() as plan, Network() as network):
            return _wired(approved.seed, plan, network)
    raise TypeError(f"no plan that runs: {approved.plan!r}")


def _placed(seed: Seed, plan: Plan, workload: Workload) -> Period:
    """Each topic that anybody is served, at its rate."""
    served = {topic for session in seed.sessions for topic in session.topics}
    published = tuple(
        Publication(topic, rate)
        for topic, rate in seed.rates.items()
        if rate and topic in served
    )
    return Period(
        seed,
        workload.period_seconds,
        published,
        planned_traffic(seed, published),
        _by_broker(seed, plan.brokers.load.tolist()),
        workload.message_bytes,
    )


def _wired(seed: Seed, plan: OverlayPlan, network: Network) -> Period:
    published = tuple(_content(network))
    users = [session.user for session in seed.sessions]
    homes = network.access[np.arange(len(users)), plan.broker].tolist()
    brokers = [broker.name for broker in seed.brokers]
    return Period(
        seed,
        network.period_seconds,
        published,
        planned_traffic(seed, published),
        _by_broker(seed, plan.load.tolist()),
        objective=plan.objective,
        access=dict(zip(users, homes, strict=True)),
        core={
            (a, b): cost
            for a, row in zip(brokers, network.core.tolist(), strict=True)
            for b, cost in zip(brokers, row, strict=True)
        },
    )


def _content(network: Network) -> list[Publication]:
    """What each user publishes in sub-channels that somebody else wants."""
    names = list(network.user_names)
    wanted, subscriber = network.wanted.subchannels, network.wanted.owners()
    followers = np.bincount(wanted, minlength=len(network.subchannels)).tolist()
    own = set(zip(subscriber.tolist(), wanted.tolist(), strict=True))
    published = network.published
    rows = zip(
        published.owners().tolist(),
        published.subchannels.tolist(),
        published.rates.tolist(),
        strict=True,
    )
    return [
        Publication(subchannel(k), rate, names[user])
        for user, k, rate in rows
        if followers[k] > ((user, k) in own)
    ]


def _by_broker(seed: Seed, loads: list[int]) -> dict[str, int]:
    return {b.name: load for b, load in zip(seed.brokers, loads, strict=True)}
