"""What one period of a plan is: who publishes what, and how often each broker, link
and user should see it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from brokerwise.runtime.protocol.seed import Seed

Counts = Mapping[tuple[str, str], int]


@dataclass(frozen=True)
class Publication:
    """`count` messages of a topic from one publisher: a user of an overlay, or
    nobody in particular (empty), who sends them to all brokers of the route."""

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
