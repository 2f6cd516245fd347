"""Subscriptions that brokers have not answered yet."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import msgspec

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.client.asking import subscriptions
from brokerwise.runtime.client.following import CursorRow
from brokerwise.runtime.client.link import Link
from brokerwise.runtime.protocol.frames import Subscribe
from brokerwise.runtime.protocol.subchannels import Box


@dataclass(eq=False)
class Ranges:
    """A box that the application wants, and who serves it."""

    box: Box
    link: Link | None = None
    refusal: BrokerwiseError | None = None

    @property
    def is_lacking(self) -> bool:
        served = self.link is not None and self.link.is_open and not self.link.is_silent
        return not served and self.refusal is None


@dataclass(eq=False)
class Question:
    """What a broker was asked for. `topics` are those that are still wanted of it."""

    link: Link
    topics: set[str]
    ranges: Ranges | None = None
    is_quiet: bool = False


class Questions:
    """Asks brokers for topics, each topic of one broker at a time."""

    def __init__(self) -> None:
        self._waiting: dict[int, Question] = {}
        self._last_id = 0

    def fresh(self, link: Link, topics: Iterable[str]) -> list[str]:
        """Those of the topics that a broker has not been asked for already."""
        asked: set[str] = set()
        for question in self._waiting.values():
            if question.link is link:
                asked |= question.topics
        return sorted(set(topics) - asked)

    def ask(
        self,
        link: Link,
        topics: list[str],
        cursors: Iterable[CursorRow],
        *,
        latest: Collection[str] = (),
        is_quiet: bool = False,
    ) -> None:
        self.withdraw(topics)
        for frame in subscriptions(topics, cursors, latest):
            question = Question(link, set(frame.topics), None, is_quiet)
            self._send(frame, question)

    def ask_ranges(self, link: Link, ranges: Ranges) -> None:
        for question in self._waiting.values():
            if question.ranges is ranges and question.link is link:
                return
        box = {name: (low, high) for name, (low, high) in ranges.box.items()}
        self._send(Subscribe(ranges=box), Question(link, set(), ranges))

    def wait_for(self, link: Link) -> bool:
        """Whether a broker still owes an answer."""
        return any(question.link is link for question in self._waiting.values())

    def find(self, number: int) -> Question | None:
        return self._waiting.get(number)

    def answered(self, number: int) -> Question | None:
        return self._waiting.pop(number, None)

    def withdraw(self, topics: Iterable[str]) -> None:
        """Nobody is waited for any more to serve these."""
        gone = set(topics)
        for question in self._waiting.values():
            question.topics -= gone

    def forget(self, link: Link) -> None:
        """A connection has closed."""
        self._waiting = {n: q for n, q in self._waiting.items() if q.link is not link}

    def _send(self, frame: Subscribe, question: Question) -> None:
        self._last_id += 1
        self._waiting[self._last_id] = question
        question.link.send(msgspec.structs.replace(frame, id=self._last_id))
