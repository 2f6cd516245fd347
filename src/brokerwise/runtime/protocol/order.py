"""The order of messages: which is next, which came before, which are missing.

Identity is (topic, source, epoch, seq): seq counts 1, 2, 3 ... per topic, source and
epoch; a source that starts again takes a higher epoch. A sequencer serves one topic:
at a broker (`broker/router.py`), and at a subscriber, which hears several brokers while
it moves (`client/inbox.py`).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

Position = tuple[int, int]  # epoch, seq
NOTHING_SEEN: Position = (0, 0)  # before the first message of any epoch
T = TypeVar("T")


@dataclass(frozen=True)
class Gap:
    """`missing` messages of a source did not come, between these two positions; None
    if an earlier epoch may have ended with some that nobody can count."""

    source: str
    after: Position
    before: Position
    missing: int | None


class Released(NamedTuple, Generic[T]):
    """Messages to hand on, in order, and the gaps that they leave."""

    messages: tuple[T, ...] = ()
    gaps: tuple[Gap, ...] = ()


@dataclass
class Sequencer(Generic[T]):
    """Hands on each message of a topic once, in the order of its source.

    While `settled`, messages come from one place in order: what is new is handed on
    at once, what is old dropped. In a transition they come from several places, each
    in order: what is not the very next of its source waits for those before it, until
    `settle` ends the transition and hands on what there is. The first message of a
    source that nobody has seen before does not wait; so if such a source starts again
    within the transition, and its second epoch overtakes its first, that is dropped.
    While `blind` (what came before is not known yet) everything waits for
    `begin_transition`. A `patient` sequencer lets a message that leaves a gap wait even
    while settled, for a straggler that comes another way; only a source that starts
    again with its first message need not.
    """

    last: dict[str, Position] = field(default_factory=dict)
    settled: bool = True
    held: dict[str, dict[Position, T]] = field(default_factory=dict)
    duplicates: int = 0
    blind: bool = False
    patient: bool = False

    def offer(self, source: str, epoch: int, seq: int, message: T) -> Released[T]:
        """What may be handed on now that this message has come."""
        last = self.last.get(source)
        position = (epoch, seq)
        if last is not None and position <= last:
            self.duplicates += 1
            return Released()
        if follows(last, position) and (
            last is not None or self._is_first_of_all(source, position)
        ):
            self.last[source] = position
            if source not in self.held:
                return Released((message,))
            return Released((message, *self._following(source)))
        if self.settled and self.patient and self._begins_an_epoch(source, position):
            self.last[source] = position
            return Released((message,))
        if not self.settled or self.patient:
            waiting = self.held.setdefault(source, {})
            self.duplicates += position in waiting
            waiting.setdefault(position, message)
            return Released()
        self.last[source] = position
        return Released((message,), _gaps(source, last, position))

    def advance(self, source: str, epoch: int, seq: int) -> bool:
        """True if a message is the very next of a source while settled and nothing
        waits: then it counts as handed on. Nearly all are, and this is cheaper than
        `offer`."""
        last = self.last.get(source)
        if (
            last is None
            or seq != last[1] + 1
            or epoch != last[0]
            or not self.settled
            or self.held
        ):
            return False
        self.last[source] = (epoch, seq)
        return True

    def begin_transition(
        self, cursors: Iterable[tuple[str, int, int]] = ()
    ) -> Released[T]:
        """From now on messages may come from several places. What is up to the
        cursors (source, epoch, seq) has been seen where we do not look; what waits
        for nothing else is handed on."""
        self.settled = self.blind = False
        messages: list[T] = []
        for source, epoch, seq in cursors:
            messages += self.catch_up(source, (epoch, seq)).messages
        for source in [s for s in self.held if s not in self.last]:
            messages += self._from_the_first(source)
        return Released(tuple(messages))

    def catch_up(self, source: str, position: Position) -> Released[T]:
        """Everything of a source up to a position counts as seen."""
        if position > self.last.get(source, NOTHING_SEEN):
            self.last[source] = position
        waiting = self.held.get(source, {})
        for old in [p for p in waiting if p <= position]:
            del waiting[old]
        return Released(tuple(self._following(source)))

    def settle(self) -> Released[T]:
        """End the transition: what still waits is handed on, its gaps told."""
        self.settled, self.blind = True, False
        messages: list[T] = []
        gaps: list[Gap] = []
        for source, waiting in self.held.items():
            for position in sorted(waiting):
                last = self.last.get(source)
                if not follows(last, position):
                    gaps += _gaps(source, last, position)
                self.last[source] = position
                messages.append(waiting[position])
        self.held.clear()
        return Released(tuple(messages), tuple(gaps))

    def waiting(self) -> int:
        """How many messages wait for an earlier one."""
        return sum(map(len, self.held.values()))

    def _is_first_of_all(self, source: str, position: Position) -> bool:
        """Whether a message that begins an epoch may be the first that is handed on
        of its source: unless others wait that go before it."""
        return not self.blind and position <= min(self.held.get(source, (position,)))

    def _begins_an_epoch(self, source: str, position: Position) -> bool:
        return position[1] == 1 and source not in self.held

    def _from_the_first(self, source: str) -> list[T]:
        """What waits of a source that nobody has seen, if its first message does."""
        first = min(self.held[source])
        if not follows(None, first):
            return []
        self.last[source] = first
        return [self.held[source].pop(first), *self._following(source)]

    def _following(self, source: str) -> list[T]:
        """What has waited for the last message of a source, which has now come."""
        messages: list[T] = []
        waiting = self.held.get(source, {})
        while waiting:
            epoch, seq = self.last.get(source, NOTHING_SEEN)
            following = waiting.pop((epoch, seq + 1), None)
            if following is None:
                break
            self.last[source] = (epoch, seq + 1)
            messages.append(following)
        if not waiting:
            self.held.pop(source, None)
        return messages


def follows(last: Position | None, position: Position) -> bool:
    """Whether a position is the very next after the last one that was seen."""
    if last is None:
        return position[1] == 1
    return position == (last[0], last[1] + 1)


def _gaps(source: str, last: Position | None, position: Position) -> tuple[Gap, ...]:
    """What is missing between two positions. Whoever has seen nothing of a source
    misses nothing: it starts where it comes in."""
    if last is None:
        return ()
    epoch, seq = position
    if epoch != last[0]:
        return (Gap(source, last, position, None),) if seq > 1 else ()
    return (Gap(source, last, position, seq - last[1] - 1),)
