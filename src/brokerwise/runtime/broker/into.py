"""Topics whose messages also go into a dataset."""

from collections.abc import Callable, Mapping

import msgspec

from brokerwise.runtime.broker.passage import Passage
from brokerwise.runtime.protocol.names import DATASET, found_for, is_channel

Feed = Callable[[str, msgspec.Raw], str]


class Into:
    """Feeds what comes out of topics, to the datasets that were told.

    Of all brokers that carry a topic one feeds it, its feeder, which the coordinator
    names with the route and which stays the same while it carries the topic.
    """

    def __init__(self, passage: Passage, feed: Feed) -> None:
        self._passage = passage
        self._feed = feed
        self._datasets: dict[str, str] = {}

    def tell(self, datasets: Mapping[str, str]) -> None:
        """Datasets by topic or pattern."""
        self._datasets = dict(datasets)

    def dataset(self, name: str) -> str:
        """Where this broker feeds what comes of a topic; empty if it does not."""
        if not self._datasets or is_channel(name):
            return ""
        found = found_for(name, self._datasets)
        topic = self._passage.topics.get(name)
        if found is None or topic is None:
            return ""
        return found if topic.route.feeder == self._passage.name else ""

    def feed(self, dataset: str, data: msgspec.Raw) -> None:
        """A record that there is no room for is dropped and counted, like that of a
        client."""
        if dataset:
            self._feed(f"{DATASET}{dataset}", data)
