"""The route of one topic, as a broker knows it."""

from brokerwise.runtime.protocol.control import Address, Route


class KnownRoute:
    """The newest route of a topic, and since which generation each of its brokers has
    been in it without a break, as far as we can tell."""

    __slots__ = ("_since", "brokers", "feeder", "generation")

    def __init__(self) -> None:
        self.generation = 0
        self.brokers: tuple[Address, ...] = ()
        self.feeder = ""
        self._since: dict[str, int] = {}

    def update(self, route: Route) -> frozenset[str]:
        """Take a route if it is newer; returns the brokers that are new in it."""
        if route.generation <= self.generation:
            return frozenset()
        # Of generations that we were not told of, anyone may have been out of them.
        before = self._since if route.generation == self.generation + 1 else {}
        added = {a.broker for a in route.brokers} - self._since.keys()
        self._since = {
            address.broker: before.get(address.broker, route.generation)
            for address in route.brokers
        }
        self.generation, self.brokers = route.generation, route.brokers
        self.feeder = route.feeder
        return frozenset(added)

    def members(self) -> frozenset[str]:
        return frozenset(self._since)

    def missed_by(self, generation: int) -> frozenset[str]:
        """Who must still get a message that was sent by an older route: all but those
        that have carried the topic ever since, to whom its publisher sent it too."""
        return frozenset(b for b, since in self._since.items() if since > generation)
