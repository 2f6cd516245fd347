"""What came to one subscriber: each message once, and in the order of its source?"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Findings:
    """Messages that did not come, came twice, came after later ones of their source,
    or are none that the subscriber was to get in this replay."""

    lost: int = 0
    twice: int = 0
    disordered: int = 0
    foreign: int = 0

    @classmethod
    def total(cls, findings: Iterable["Findings"]) -> "Findings":
        found = list(findings)
        return cls(
            **{f.name: sum(getattr(one, f.name) for one in found) for f in fields(cls)}
        )


class Streams:
    """All that is published: the number of messages of each topic from each source,
    which number them from 1. All subscribers share it; they may be many."""

    def __init__(self, published: Iterable[tuple[str, str, int]]) -> None:
        """From rows of topic, source and count."""
        self.numbers: dict[tuple[str, str], int] = {}
        self.counts: list[int] = []
        self._of_topic: dict[str, list[tuple[str, int]]] = {}
        for number, (topic, source, count) in enumerate(published):
            self.numbers[topic, source] = number
            self.counts.append(count)
            self._of_topic.setdefault(topic, []).append((source, number))

    def wanted(self, topics: Collection[str], own: str = "") -> Iterator[int]:
        """The streams of these topics, except for a source of one's own."""
        for topic in topics:
            for source, number in self._of_topic.get(topic, ()):
                if source != own:
                    yield number


class Arrivals:
    """Counts the messages of one subscriber, by topic and source.

    Its `take` is called for everything that brokers send, also for what a client drops.
    """

    __slots__ = ("_last", "_missing", "_own", "_streams", "_topics", "_wrong")

    def __init__(
        self, streams: Streams, topics: Collection[str], own: str = ""
    ) -> None:
        """`own` is the source that the subscriber publishes as: on an overlay a user
        does not get its own messages."""
        self._streams = streams
        self._topics = topics
        self._own = own
        self._last: dict[int, int] = {}
        self._missing: dict[int, set[int]] = {}
        self._wrong = Findings()

    def take(self, topic: str, source: str, seq: int) -> bool:
        """A message has come. True if it was expected."""
        number = self._streams.numbers.get((topic, source), -1)
        last = self._last.get(number, 0)
        if last and seq == last + 1 <= self._streams.counts[number]:
            self._last[number] = seq
            return True
        return self._take_odd(topic, source, number, seq)

    def _take_odd(self, topic: str, source: str, number: int, seq: int) -> bool:
        """The first of a stream, or one that is not the very next."""
        known = number >= 0 and topic in self._topics and source != self._own
        if not known or not 0 < seq <= self._streams.counts[number]:
            self._count(Findings(foreign=1))
            return False
        last = self._last.get(number, 0)
        if seq > last:
            if seq > last + 1:
                self._missing.setdefault(number, set()).update(range(last + 1, seq))
            self._last[number] = seq
            return True
        missing = self._missing.get(number, set())
        late = seq in missing
        missing.discard(seq)
        self._count(Findings(disordered=1) if late else Findings(twice=1))
        return late

    def _count(self, wrong: Findings) -> None:
        self._wrong = Findings.total((self._wrong, wrong))

    def findings(self) -> Findings:
        """What is wrong so far; what has not come yet counts as lost."""
        behind = sum(
            self._streams.counts[number] - self._last.get(number, 0)
            for number in self._streams.wanted(self._topics, self._own)
        )
        missing = sum(map(len, self._missing.values()))
        return Findings.total((self._wrong, Findings(lost=behind + missing)))
