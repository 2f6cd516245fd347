"""When each message of a trial was sent and came."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from brokerwise.model.arrays import Int64s
from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.measuring.trials import Trial
from brokerwise.storage.latency_data import LOGS
from brokerwise.storage.latency_logs import LATE_MS, LoggedTopic
from brokerwise.storage.tables import table_of


class WrongMessageError(BrokerwiseError):
    """A message came that was not sent, came twice, or came without its data."""


class Record:
    """One place for each message: by topic, publisher and number.

    Times are nanoseconds of a clock that never goes back; 0 is not yet.
    """

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        counts = [topic.total for topic in trial.topics]
        self._starts = np.concatenate([[0], np.cumsum(counts)]).tolist()
        self.sent: list[int] = [0] * trial.total
        self.came: list[int] = [0] * trial.total
        self.arrived = 0
        self.late = 0
        self.worst_late_ns = 0

    def place(self, topic: int, publisher: int, seq: int) -> int:
        start: int = self._starts[topic]
        return start + publisher * self._trial.topics[topic].messages + seq - 1

    def note_sent(self, place: int, now: int, due: int) -> None:
        self.sent[place] = now
        late = now - due
        self.worst_late_ns = max(self.worst_late_ns, late)
        self.late += late > LATE_MS * 1e6

    def note_came(self, topic: int, publisher: int, seq: int, now: int) -> None:
        """Raises WrongMessageError."""
        place = self.place(topic, publisher, seq)
        if not self.sent[place] or self.came[place]:
            what = "twice" if self.came[place] else "before it was sent"
            raise WrongMessageError(
                f"message {seq} of publisher {publisher} came {what}"
            )
        self.came[place] = now
        self.arrived += 1

    @property
    def is_complete(self) -> bool:
        return self.arrived == len(self.sent)

    def undelivered(self) -> tuple[int, ...]:
        """By topic: sent, and not come."""
        waits = (np.array(self.sent) > 0) & (np.array(self.came) == 0)
        parts = np.split(waits, self._starts[1:-1])
        return tuple(int(part.sum()) for part in parts)

    def unsent(self) -> int:
        return self.sent.count(0)

    def log(self, start: int, end: int) -> pa.Table:
        """All that was sent, times counted from `start`. What has not come counts with
        the time that it had waited until `end`: it would have been more."""
        sent, came = np.array(self.sent), np.array(self.came)
        topic, publisher, seq = _numbers(self._trial.topics)
        latency = np.where(came > 0, came, end) - sent
        columns = [
            np.full(len(sent), self._trial.number),
            *(topic, publisher, seq, sent - start, latency),
        ]
        there = sent > 0
        return table_of([column[there] for column in columns], LOGS)


def _numbers(topics: Sequence[LoggedTopic]) -> tuple[Int64s, Int64s, Int64s]:
    """Topic, publisher and number of each message, in the order of their places."""
    shapes = [(topic.publishers, topic.messages) for topic in topics]
    parts = [np.indices(shape).reshape(2, -1) for shape in shapes]
    publisher, seq = np.concatenate(parts, axis=1)
    topic = np.repeat(np.arange(len(topics)), [topic.total for topic in topics])
    return topic, publisher, seq + 1
