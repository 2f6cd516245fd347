"""One period of a plan: what is published, what brokers, links and users should see
of it, what they have seen, and whether the two are the same.

Brokers tell what they have seen by their counters (`Traffic`), subscribers by every
message that comes to them (`Arrivals`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import TypeVar

import msgspec
import numpy as np

from brokerwise.model.network import Network
from brokerwise.model.overlay import OverlayPlan
from brokerwise.model.plan import Plan
from brokerwise.model.workload import Workload
from brokerwise.runtime.fleet.approval import ApprovedPlan
from brokerwise.runtime.fleet.seeds import subchannel
from brokerwise.runtime.load.arrivals import Findings
from brokerwise.runtime.protocol.fleet import TrafficPage
from brokerwise.runtime.protocol.seed import Seed

Counts = Mapping[tuple[str, str], int]


@dataclass(frozen=True)
class Publication:
    """`count` messages of a topic from one publisher: a user of an overlay, or (if
    empty) the replay itself, which sends them to all brokers of the route."""

    topic: str
    count: int
    user: str = ""


@dataclass(frozen=True)
class Traffic:
    """Messages counted; what was never seen is left out.

    Attributes
    ----------
    received, delivered
        By broker and topic: taken in, from publishers or other brokers, and given
        to sessions.
    forwarded
        By the two brokers of a link.
    sent, got
        By user, of an overlay: taken from it, and given to it.
    """

    received: Counts = field(default_factory=dict)
    delivered: Counts = field(default_factory=dict)
    forwarded: Counts = field(default_factory=dict)
    sent: Mapping[str, int] = field(default_factory=dict)
    got: Mapping[str, int] = field(default_factory=dict)

    @property
    def deliveries(self) -> int:
        return sum(self.delivered.values())


def planned_traffic(seed: Seed, published: tuple[Publication, ...]) -> Traffic:
    """What the plan says that brokers, links and users see of these messages.

    O(publications * brokers + pairs).
    """
    if seed.overlay:
        return _Wiring(seed).traffic(published)
    counts = {p.topic: p.count for p in published}
    sessions = Counter(
        (s.broker, t) for s in seed.sessions for t in s.topics if t in counts
    )
    return Traffic(
        received={at: counts[at[1]] for at in sessions},
        delivered={at: counts[at[1]] * n for at, n in sessions.items()},
    )


class _Wiring:
    """An overlay, and what is counted as messages go through it."""

    def __init__(self, seed: Seed) -> None:
        self._home = {s.user: s.broker for s in seed.sessions}
        self._wants = {s.user: frozenset(s.topics) for s in seed.sessions}
        self._sessions = Counter((s.broker, t) for s in seed.sessions for t in s.topics)
        self._next = {
            (broker, branch.origin, branch.topic): branch.brokers
            for broker, part in seed.overlay.items()
            for branch in part.branches
        }
        self._trees: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {}

    def traffic(self, published: tuple[Publication, ...]) -> Traffic:
        received, delivered, forwarded = (Counter[tuple[str, str]]() for _ in range(3))
        sent, all_of, own = Counter[str](), Counter[str](), Counter[str]()
        for p in published:
            home, wanted = self._home[p.user], p.topic in self._wants[p.user]
            received[home, p.topic] += p.count
            delivered[home, p.topic] += p.count * (self._on(home, p.topic) - wanted)
            for link in self._tree(home, p.topic):
                forwarded[link] += p.count
                received[link[1], p.topic] += p.count
                delivered[link[1], p.topic] += p.count * self._on(link[1], p.topic)
            sent[p.user] += p.count
            all_of[p.topic] += p.count
            own[p.user] += p.count * wanted
        got = Counter(
            {
                user: sum(all_of[topic] for topic in wants) - own[user]
                for user, wants in self._wants.items()
            }
        )
        # A plus leaves out what is zero.
        return Traffic(+received, +delivered, +forwarded, +sent, +got)

    def _on(self, broker: str, topic: str) -> int:
        return self._sessions[broker, topic]

    def _tree(self, origin: str, topic: str) -> tuple[tuple[str, str], ...]:
        tree = self._trees.get((origin, topic))
        if tree is None:
            tree = self._trees[origin, topic] = tuple(self._links(origin, topic))
        return tree

    def _links(self, origin: str, topic: str) -> Iterator[tuple[str, str]]:
        """From the origin outwards; an audited plan comes to each broker once."""
        brokers = [origin]
        for broker in brokers:
            for child in self._next.get((broker, origin, topic), ()):
                yield broker, child
                brokers.append(child)


@dataclass(frozen=True)
class Period:
    """What is replayed, and what is expected of it.

    Attributes
    ----------
    loads
        Of each broker, as the plan states them.
    message_bytes
        Of each message, 0 if not known.
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
    """Each topic that has subscribers, at its rate."""
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
    """What each user publishes in sub-channels that another user subscribes to."""
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


def traffic_of(reports: Iterable[TrafficPage]) -> Traffic:
    """All brokers' counters together; zeros are left out."""
    received, delivered, forwarded = (Counter[tuple[str, str]]() for _ in range(3))
    sent, got = Counter[str](), Counter[str]()
    for report in reports:
        for topic, seen in report.topics.items():
            received[report.broker, topic] = seen.received
            delivered[report.broker, topic] = seen.delivered
        for peer, passed in report.links.items():
            forwarded[report.broker, peer] = passed.forwarded
        users = {} if report.users is msgspec.UNSET else report.users
        for user, load in users.items():
            sent[user] += load.received
            got[user] += load.delivered
    return Traffic(+received, +delivered, +forwarded, +sent, +got)


K = TypeVar("K")


@dataclass(frozen=True)
class Difference:
    """A count that is not what was planned. `what` is a field of Traffic, `of` what
    it is counted by, such as broker and topic."""

    what: str
    of: str
    planned: int
    seen: int


@dataclass(frozen=True)
class Figure:
    """A sum, as the plan itself states it and as it was seen."""

    planned: int
    seen: int


@dataclass(frozen=True)
class Latencies:
    """End to end, from the publisher's clock to the subscriber's, in milliseconds."""

    p50: float
    p90: float
    p99: float


@dataclass(frozen=True)
class Outcome:
    """All that came of a replay. `loads` are those of brokers; `cost` is that of all
    links, in thousandths; None unless the plan is an overlay."""

    messages: int
    planned: Traffic
    seen: Traffic
    loads: Mapping[str, Figure]
    findings: Findings
    latencies: Latencies
    seconds: float
    cost: Figure | None = None

    @property
    def differences(self) -> list[Difference]:
        return list(differences(self.planned, self.seen))

    @property
    def ok(self) -> bool:
        """Everything as planned, message for message, and nothing lost or doubled."""
        sums = [*self.loads.values(), *([self.cost] if self.cost else [])]
        return (
            self.findings == Findings()
            and all(load.planned == load.seen for load in sums)
            and not self.differences
        )


def differences(planned: Traffic, seen: Traffic) -> Iterator[Difference]:
    """Every count that is not as planned, field by field and in order."""
    for one in fields(Traffic):
        name = one.name
        yield from _between(name, getattr(planned, name), getattr(seen, name))


def since(before: Traffic, after: Traffic) -> Traffic:
    """What was counted between two looks at counters that only rise."""
    return Traffic(
        *(
            _risen(getattr(before, f.name), getattr(after, f.name))
            for f in fields(Traffic)
        )
    )


def _between(
    what: str, planned: Mapping[K, int], seen: Mapping[K, int]
) -> Iterator[Difference]:
    for key in sorted({*planned, *seen}, key=_shown):
        counts = planned.get(key, 0), seen.get(key, 0)
        if counts[0] != counts[1]:
            yield Difference(what, _shown(key), *counts)


def _risen(before: Mapping[K, int], after: Mapping[K, int]) -> dict[K, int]:
    risen = {key: count - before.get(key, 0) for key, count in after.items()}
    return {key: count for key, count in risen.items() if count}


def _shown(key: object) -> str:
    return " ".join(key) if isinstance(key, tuple) else str(key)
