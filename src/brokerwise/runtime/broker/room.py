"""How much may wait in a broker for something that has not come yet."""

from brokerwise.runtime.protocol.limits import HELD_BYTES, HELD_BYTES_IN_ALL


class Room:
    """Bytes of messages that wait, by topic. One that is full leaves room for others,
    as long as there is any."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}
        self._in_all = 0

    def has(self, topic: str, size: int) -> bool:
        return (
            self._taken.get(topic, 0) + size <= HELD_BYTES
            and self._in_all + size <= HELD_BYTES_IN_ALL
        )

    def take(self, topic: str, size: int) -> None:
        self._taken[topic] = self._taken.get(topic, 0) + size
        self._in_all += size

    def give_back(self, topic: str, size: int | None = None) -> None:
        """So much, or all that was taken for a topic."""
        taken = self._taken.pop(topic, 0)
        size = taken if size is None else min(size, taken)
        self._in_all -= size
        if taken > size:
            self._taken[topic] = taken - size

    def clear(self) -> None:
        self._taken.clear()
        self._in_all = 0
