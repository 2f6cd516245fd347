"""Which configurations are measured, and in which order."""

from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest

from brokerwise.latency.design import Design
from brokerwise.latency.drawing import Configuration, most_publishers, up_to_load
from brokerwise.model.latency import LatencyRows
from brokerwise.runtime.measuring.settings import Load
from brokerwise.runtime.measuring.trials import Trial
from brokerwise.storage.latency_logs import LoggedTopic

Most = Mapping[float, int]


class Agenda:
    """The trials of a design; numbered by k, so that a number says which it is."""

    def __init__(self, design: Design, load: Load, cores: int) -> None:
        self.design, self._load, self._cores = design, load, cores

    def alone(self) -> list[Trial]:
        """Topics alone on their broker, over a grid of processing times and
        publishers, up to a little more than a core can do."""
        if 1 not in self.design.topics:
            return []
        return self._trials(1, self.design.alone(self._load.rate_each))

    def meeting(self, rows: LatencyRows) -> dict[float, int]:
        """The most publishers with which topics meet the target alone, by those
        processing times that there are rows of."""
        rate_each = self._load.rate_each
        return most_publishers(rows, self.design.target_ms, rate_each=rate_each)

    def most(self, rows: LatencyRows | None) -> dict[float, int]:
        """The most publishers that a topic which shares its broker has: those with
        which it meets the target alone. What was not measured alone may have as many
        as one core has time for."""
        rate_each = self._load.rate_each
        found = up_to_load(1.0, processing=self.design.processing, rate_each=rate_each)
        return found if rows is None else found | self.meeting(rows)

    def sharing(self, most: Most) -> list[Trial]:
        """Topics that share their broker. Each k has its turn, so that what is there
        after an interruption has some of each."""
        lists = [
            self._trials(k, self._drawn(k, most)) for k in self.design.topics if k > 1
        ]
        rounds = chain.from_iterable(zip_longest(*lists))
        return [trial for trial in rounds if trial is not None]

    def _drawn(self, k: int, most: Most) -> list[Configuration]:
        rate_each, cores = self._load.rate_each, self._cores
        return self.design.sharing(k, most, rate_each=rate_each, cores=cores)

    def _trials(self, k: int, drawn: Sequence[Configuration]) -> list[Trial]:
        first = self.design.topics.index(k) * self.design.each
        return [
            Trial(
                number=first + i,
                topics=self._topics(configuration),
                message_bytes=self._load.message_bytes,
                longest=self._load.longest,
                seed=self.design.seed,
            )
            for i, configuration in enumerate(drawn)
        ]

    def _topics(self, drawn: Configuration) -> tuple[LoggedTopic, ...]:
        rate_each, messages = self._load.rate_each, self._load.messages
        pairs = zip(drawn.processing_ms, drawn.publishers, strict=True)
        return tuple(LoggedTopic(p, n, rate_each, messages) for p, n in pairs)
