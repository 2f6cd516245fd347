"""GS and MKPBS pair by pair, in plain Python that shares nothing with the product.

A topic is a rate and the weights of its pairs, in any order; an answer has the number
of pairs of each topic and broker.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache

Topic = tuple[int, list[int]]  # rate, weights
Answer = Counter[tuple[int, int]]
Item = tuple[int, int, int]  # rate, weight, count


@dataclass
class Fill:
    """The pairs that are left, best first, and the room of brokers."""

    topics: Sequence[Topic]
    capacities: Sequence[int]
    answer: Answer = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.left = [sorted(weights)[::-1] for _, weights in self.topics]

    def rate(self, topic: int) -> int:
        return self.topics[topic][0]

    def room(self, broker: int) -> int:
        used = sum(
            self.rate(t) * (n + 1) for (t, b), n in self.answer.items() if b == broker
        )
        return self.capacities[broker] - used

    def roomiest_first(self) -> list[int]:
        return sorted(range(len(self.capacities)), key=lambda b: (-self.room(b), b))

    def put(self, topic: int, broker: int, pairs: int = 1) -> None:
        for _ in range(pairs):
            self.left[topic].pop(0)
            self.answer[topic, broker] += 1


def greedy(topics: Sequence[Topic], capacities: Sequence[int]) -> Answer:
    """Algorithm 1, corrected."""
    fill = Fill(topics, capacities)
    waiting = set(range(len(topics)))
    while waiting and capacities:
        topic = min(waiting, key=lambda t: (-sum(fill.left[t]), t))
        broker = fill.roomiest_first()[0]
        if fill.room(broker) < 2 * fill.rate(topic):
            waiting.remove(topic)
            continue
        fill.put(topic, broker)
        while fill.left[topic] and fill.room(broker) >= fill.rate(topic):
            fill.put(topic, broker)
        if not fill.left[topic]:
            waiting.remove(topic)
    return fill.answer


def mkp(topics: Sequence[Topic], capacities: Sequence[int]) -> Answer:
    """Algorithms 2 and 3, corrected."""
    fill = Fill(topics, capacities)
    whole = greedy_mkp(fill, lambda t: fill.rate(t) * (len(fill.left[t]) + 1))
    for broker, allotted in whole.items():
        for topic in allotted:
            fill.put(topic, broker, len(fill.left[topic]))
    while any((parts := greedy_mkp(fill, lambda t: 2 * fill.rate(t))).values()):
        for broker, allotted in parts.items():
            fill_broker(fill, broker, allotted)
    return fill.answer


def greedy_mkp(fill: Fill, load: Callable[[int], int]) -> dict[int, list[int]]:
    """Algorithm 3: what is allotted to each broker."""

    def profit_over_load(topic: int) -> Fraction:
        return Fraction(fill.rate(topic) * sum(fill.left[topic]), load(topic))

    waiting = [t for t in range(len(fill.topics)) if fill.left[t]]
    waiting.sort(key=lambda t: (-profit_over_load(t), t))
    found: dict[int, list[int]] = {}
    for broker in fill.roomiest_first():
        room, found[broker] = fill.room(broker), []
        for topic in list(waiting):
            if load(topic) <= room:
                room -= load(topic)
                found[broker].append(topic)
                waiting.remove(topic)
    return found


def fill_broker(fill: Fill, broker: int, allotted: list[int]) -> None:
    new = [t for t in allotted if not fill.answer[t, broker]]
    room = fill.room(broker) - sum(fill.rate(t) for t in new)
    pairs = [(t, weight) for t in allotted for weight in fill.left[t]]
    classes = list(Counter(pairs).items())
    classes.sort(key=lambda entry: -entry[0][1])
    items = [(fill.rate(t), weight, count) for (t, weight), count in classes]
    for ((topic, _), _), taken in zip(classes, best_choice(items, room), strict=True):
        if taken:
            fill.put(topic, broker, taken)
    carried = {t for (t, b), n in fill.answer.items() if b == broker and n}
    for (topic, weight), _ in classes:
        while (
            topic in carried
            and weight in fill.left[topic]
            and fill.room(broker) >= fill.rate(topic)
        ):
            fill.put(topic, broker)


def best_choice(items: Sequence[Item], room: int) -> tuple[int, ...]:
    """Of all choices within the room one that is worth most, and of these the one
    with the most of the first item, then of the second, ..."""

    @cache
    def best(at: int, room: int) -> tuple[int, tuple[int, ...]]:
        if at == len(items):
            return 0, ()
        rate, weight, count = items[at]
        choices = []
        for taken in range(min(count, room // rate) + 1):
            value, others = best(at + 1, room - taken * rate)
            choices.append((value + taken * rate * weight, (taken, *others)))
        return max(choices)

    return best(0, room)[1]
