"""The algorithms of Khare et al. (2018), line by line: a prediction for each topic of
each set that is looked at, one at a time, nothing kept and nothing pruned.

Two repairs, without which they do not work as printed: after the matching nothing is
left (Algorithm 2 goes on for ever), and it is also made when two is the size to begin
with; topics that first fit took are not looked at again (Algorithm 3 changes the list
that it walks over). A set is feasible if it and all its parts are within their limits;
for a model that is monotone (`parts=False`) only the set itself is looked at.
"""

from collections.abc import Callable, Sequence
from itertools import combinations

import highspy

from brokerwise.model.colocation import TopicTable
from brokerwise.model.latency import Predictor

Feasible = Callable[[Sequence[int]], bool]
Brokers = list[list[int]]


class Model:
    """A predictor that is asked about one topic of one set at a time."""

    def __init__(
        self, topics: TopicTable, predictor: Predictor, margin: float, parts: bool
    ) -> None:
        self.topics, self.predictor, self.parts = topics, predictor, parts
        self.limit = topics.target_ms * (1 - margin)
        self.asked = 0

    def p90_ms(self, topic: int, members: Sequence[int]) -> float:
        self.asked += 1
        row = list(members)
        found = self.predictor.p90_ms(
            self.topics.processing_ms[row][None], self.topics.rate_per_second[row][None]
        )
        return float(found[0, row.index(topic)])

    def within(self, members: Sequence[int]) -> bool:
        return all(
            self.p90_ms(topic, members) <= self.limit[topic] for topic in members
        )

    def feasible(self, members: Sequence[int]) -> bool:
        sizes = range(1, len(members) + 1) if self.parts else (len(members),)
        return all(
            self.within(part) for size in sizes for part in combinations(members, size)
        )

    def in_order(self) -> list[int]:
        """Topics by descending latency alone, then by name."""
        names = list(self.topics.names)
        alone = [self.p90_ms(topic, [topic]) for topic in range(len(names))]
        return sorted(range(len(names)), key=lambda t: (-alone[t], names[t].encode()))


def ffd(order: Sequence[int], k: int, feasible: Feasible) -> Brokers:
    """Algorithm 1."""
    brokers: Brokers = []
    for topic in order:
        for members in brokers:
            if len(members) < k and feasible([*members, topic]):
                members.append(topic)
                break
        else:
            brokers.append([topic])
    return brokers


def lfs(order: Sequence[int], k: int, feasible: Feasible) -> Brokers:
    """Algorithm 2; the first set in lexicographic order is taken."""
    rest, brokers = list(order), Brokers()
    while rest and k > 2:
        found = next((s for s in combinations(rest, k) if feasible(s)), None)
        if found is None:
            k -= 1
            continue
        brokers.append(list(found))
        rest = [topic for topic in rest if topic not in found]
    if k == 1:
        return brokers + [[topic] for topic in rest]
    return brokers + matching(rest, feasible)


def hybrid(order: Sequence[int], k: int, opening: int, feasible: Feasible) -> Brokers:
    """Algorithm 3."""
    if opening == k:
        return lfs(order, k, feasible)
    if opening == 1:
        return ffd(order, k, feasible)
    rest, brokers = list(order), Brokers()
    while True:
        found = next((s for s in combinations(rest, opening) if feasible(s)), None)
        if found is None:
            return brokers + lfs(rest, opening - 1, feasible)
        members = list(found)
        for topic in rest:
            more = len(members) < k and topic not in members
            if more and feasible([*members, topic]):
                members.append(topic)
        brokers.append(members)
        rest = [topic for topic in rest if topic not in members]


def matching(topics: Sequence[int], feasible: Feasible) -> Brokers:
    """As many pairs as possible, by an integer program."""
    pairs = [pair for pair in combinations(topics, 2) if feasible(pair)]
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    for _ in pairs:
        highs.addCol(-1.0, 0.0, 1.0, 0, [], [])
    for topic in topics:
        uses = [at for at, pair in enumerate(pairs) if topic in pair]
        highs.addRow(-highspy.kHighsInf, 1.0, len(uses), uses, [1.0] * len(uses))
    for at in range(len(pairs)):
        highs.changeColIntegrality(at, highspy.HighsVarType.kInteger)
    highs.run()
    used = highs.getSolution().col_value
    chosen = [list(p) for p, x in zip(pairs, used, strict=True) if x > 0.5]
    taken = {topic for pair in chosen for topic in pair}
    return chosen + [[topic] for topic in topics if topic not in taken]
