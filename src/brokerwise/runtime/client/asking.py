"""The frames that ask for topics."""

from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from brokerwise.runtime.client.following import CursorRow
from brokerwise.runtime.protocol.frames import Subscribe
from brokerwise.runtime.protocol.limits import MAX_FRAME_BYTES, MAX_TOPICS_PER_FRAME
from brokerwise.runtime.protocol.names import is_channel

_FRAME_BYTES = MAX_FRAME_BYTES // 2  # of names, before what JSON adds


def subscriptions(
    topics: Sequence[str],
    cursors: Iterable[CursorRow],
    latest: Collection[str] = (),
) -> Iterator[Subscribe]:
    """Frames that ask for topics, none of them too large; for channels in frames of
    their own, also for those to begin with the `latest`. Cursors that would not fit
    beside their topics are left out: a direct topic begins where it is anyway."""
    by_topic: dict[str, list[CursorRow]] = {}
    for row in cursors:
        by_topic.setdefault(row[0], []).append(row)
    channels = [topic for topic in topics if is_channel(topic)]
    direct = [topic for topic in topics if not is_channel(topic)]
    yield from _frames(direct, by_topic)
    yield from _frames([t for t in channels if t not in latest], by_topic)
    for frame in _frames([t for t in channels if t in latest], by_topic):
        yield msgspec.structs.replace(frame, latest=True)


def _frames(
    topics: Iterable[str], by_topic: dict[str, list[CursorRow]]
) -> Iterator[Subscribe]:
    part: list[str] = []
    rows: list[CursorRow] = []
    size = 0
    for topic in topics:
        own = by_topic.get(topic, [])
        added = _size(topic, own)
        if added > _FRAME_BYTES:
            own, added = [], _size(topic, [])
        if part and (size + added > _FRAME_BYTES or len(part) == MAX_TOPICS_PER_FRAME):
            yield Subscribe(0, tuple(part), {}, tuple(rows))
            part, rows, size = [], [], 0
        part.append(topic)
        rows += own
        size += added
    if part:
        yield Subscribe(0, tuple(part), {}, tuple(rows))


def _size(topic: str, rows: list[CursorRow]) -> int:
    name = len(topic.encode()) + 4
    return name + sum(name + len(row[1].encode()) + 44 for row in rows)
