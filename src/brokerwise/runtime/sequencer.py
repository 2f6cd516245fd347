"""The order of messages: which is next, which came before, which are missing.

Identity is (topic, source, epoch, seq): seq counts 1, 2, 3 ... per topic, source and
epoch; a source that starts again takes a higher epoch. A sequencer serves one topic.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Position = tuple[int, int]  # epoch, seq
T = TypeVar("T")


@dataclass(frozen=True)
class Gap:
    """`missing` messages of a source did not come, between these two positions; None
    if an earlier epoch may have ended with some that nobody can count."""

    source: str
    after: Position
    before: Position
    missing: int | None


@dataclass(frozen=True)
class Released(Generic[T]):
    """Messages to hand on, in order, and the gaps that they leave."""

    messages: tuple[T, ...] = ()
    gaps: tuple[Gap, ...] = ()


@dataclass
class Sequencer(Generic[T]):
    """Hands on each message of a topic once, in the order of its source.

    While `settled`, messages come from one place in order: what is new is handed on
    at once, what is old dropped. In a transition they come from several places, each
    in order: what is not the very next of its source waits for those before it, until
    `settle` ends the transition and hands on what there is.
    """

    last: dict[str, Position] = field(default_factory=dict)
    settled: bool = True
    held: dict[str, dict[Position, T]] = field(default_factory=dict)
    duplicates: int = 0

    def offer(self, source: str, epoch: int, seq: int, message: T) -> Released[T]:
        """What may be handed on now that this message has come."""
        last = self.last.get(source)
        position = (epoch, seq)
        if last is not None and position <= last:
            self.duplicates += 1
            return Released()
        if follows(last, position):
            self.last[source] = position
            if source not in self.held:
                return Released((message,))
            return Released((message, *self._following(source)))
        if not self.settled:
            waiting = self.held.setdefault(source, {})
            self.duplicates += position in waiting
            waiting.setdefault(position, message)
            return Released()
        self.last[source] = position
        return Released((message,), _gaps(source, last, position))

    def begin_transition(
        self, cursors: Iterable[tuple[str, int, int]] = ()
    ) -> Released[T]:
        """From now on messages may come from several places. What is up to the
        cursors (source, epoch, seq) has been seen where we do not look; what waits
        for nothing else is handed on."""
        self.settled = False
        messages: list[T] = []
        for source, epoch, seq in cursors:
            messages += self.catch_up(source, (epoch, seq)).messages
        return Released(tuple(messages))

    def catch_up(self, source: str, position: Position) -> Released[T]:
        """Everything of a source up to a position counts as seen."""
        if position > self.last.get(source, (0, 0)):
            self.last[source] = position
        waiting = self.held.get(source, {})
        for old in [p for p in waiting if p <= position]:
            del waiting[old]
        return Released(tuple(self._following(source)))

    def settle(self) -> Released[T]:
        """End the transition: what still waits is handed on, its gaps told."""
        self.settled = True
        messages: list[T] = []
        gaps: list[Gap] = []
        for source, waiting in self.held.items():
            for position in sorted(waiting):
                last = self.last.get(source)
                if last is not None and position <= last:
                    continue
                if not follows(last, position):
                    gaps += _gaps(source, last, position)
                self.last[source] = position
                messages.append(waiting[position])
        self.held.clear()
        return Released(tuple(messages), tuple(gaps))

    def waiting(self) -> int:
        """How many messages wait for an earlier one."""
        return sum(map(len, self.held.values()))

    def _following(self, source: str) -> list[T]:
        """What has waited for the last message of a source, which has now come."""
        messages: list[T] = []
        waiting = self.held.get(source, {})
        while waiting:
            epoch, seq = self.last[source]
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
