"""Messages of several brokers, made one: each once, in order, gaps told."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.client.fake_fleet import until

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.client.context import SharedTimer
from brokerwise.runtime.client.events import Event, GapTold, Received
from brokerwise.runtime.client.inbox import (
    LOW_MARK,
    MOST_EVENTS,
    EventQueue,
    StreamMerger,
)

TOPIC = "news"
OLD, NEW, NEWER = 1, 2, 3
Position = tuple[int, int]


def message(source: str, epoch: int, seq: int, topic: str = TOPIC) -> Received:
    return Received(topic, source, epoch, seq)


def cursors(
    positions: dict[str, Position], topic: str = TOPIC
) -> list[tuple[str, str, int, int]]:
    return [(topic, source, *position) for source, position in positions.items()]


def ignore(message: Received) -> None:
    """Nobody waits for it to be dealt with."""


@dataclass
class Told:
    """What the application was told, and whether it may have been."""

    seen: dict[str, list[Position]] = field(default_factory=lambda: defaultdict(list))
    gaps: dict[str, list[int | None]] = field(default_factory=lambda: defaultdict(list))

    def take(self, events: Iterable[Event]) -> None:
        for event in events:
            if isinstance(event, GapTold):
                self.gaps[event.source].append(event.missing)
            else:
                self.seen[event.source].append((event.epoch, event.seq))

    def in_order(self) -> bool:
        return all(list(p) == sorted(set(p)) for p in self.seen.values())


@dataclass(frozen=True)
class Story:
    """What sources sent, in order, and how far each of two brokers had come when the
    second began, and when the first was left."""

    sent: dict[str, list[Position]]
    shown_before: dict[str, int]  # by the old broker, before the new one began
    start: dict[str, int]  # of the new broker
    old_end: dict[str, int]  # where the old broker's stream is cut
    interleaving: list[bool]


@st.composite
def stories(draw: st.DrawFn, *, complete: bool) -> Story:
    sent: dict[str, list[Position]] = {}
    for source in draw(st.sampled_from([["a"], ["a", "b"], ["a", "b", "c"]])):
        lengths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
        sent[source] = [
            (epoch + 1, seq + 1)
            for epoch, length in enumerate(lengths)
            for seq in range(length)
        ]
    shown = {s: draw(st.integers(0, len(p))) for s, p in sent.items()}
    start = {s: draw(st.integers(0, len(p))) for s, p in sent.items()}
    ends = {
        s: draw(st.integers(max(shown[s], start[s]) if complete else shown[s], len(p)))
        for s, p in sent.items()
    }
    return Story(sent, shown, start, ends, draw(st.lists(st.booleans(), max_size=60)))


def merged(streams: dict[str, list[Position]]) -> list[tuple[str, Position]]:
    """One broker's messages: any order of sources will do, here round robin."""
    waiting = {source: list(p) for source, p in streams.items() if p}
    found = []
    while waiting:
        for source in list(waiting):
            found.append((source, waiting[source].pop(0)))
            if not waiting[source]:
                del waiting[source]
    return found


def follow(story: Story, first: int = 0) -> tuple[StreamMerger, Told]:
    """Play a story from its beginning until the old broker's stream is cut."""
    following, told = StreamMerger(), Told()
    told.take(following.serve(OLD, [TOPIC], []))
    shown = {s: p[: story.shown_before[s]] for s, p in story.sent.items()}
    for source, position in merged(shown):
        told.take(following.receive(OLD, message(source, *position)))
    begun = {s: p[story.start[s] - 1] for s, p in story.sent.items() if story.start[s]}
    told.take(following.serve(NEW, [TOPIC], cursors(begun)))
    old = merged(
        {s: p[story.shown_before[s] : story.old_end[s]] for s, p in story.sent.items()}
    )
    new = merged({s: p[story.start[s] :] for s, p in story.sent.items()})
    turns = iter(story.interleaving)
    while old or new:
        from_old = bool(old) and (not new or next(turns, True))
        stream, waiting = (OLD, old) if from_old else (NEW, new)
        source, position = waiting.pop(0)
        told.take(following.receive(stream, message(source, *position)))
    return following, told


@given(stories(complete=True))
def test_a_move_shows_each_message_once_in_order_and_no_gap(story: Story) -> None:
    following, told = follow(story)
    assert dict(told.seen) == {s: p for s, p in story.sent.items() if p}
    assert not told.gaps
    assert following.streams_of(TOPIC) == (NEW,)
    assert not following.topics_of(OLD)


@given(stories(complete=False))
def test_gaps_are_told_for_what_nobody_sent_and_for_nothing_else(story: Story) -> None:
    following, told = follow(story)
    told.take(following.end(OLD))
    assert told.in_order()
    for source, sent in story.sent.items():
        brought = set(sent[: story.old_end[source]]) | set(sent[story.start[source] :])
        assert told.seen[source] == [p for p in sent if p in brought]
        missing = [p for p in sent if p not in brought]
        assert bool(missing) == bool(told.gaps[source])
        counted = [gap for gap in told.gaps[source] if gap is not None]
        if len(counted) == len(told.gaps[source]):
            assert sum(counted) == len(missing)
    assert following.streams_of(TOPIC) == (NEW,)


@given(stories(complete=False), st.booleans())
def test_a_new_broker_that_dies_in_a_move_costs_nothing(
    story: Story, old_goes_on: bool
) -> None:
    """Whatever it brought is kept, and the old broker brings the rest."""
    following, told = follow(story)
    if NEW not in following.streams_of(TOPIC) or OLD not in following.streams_of(TOPIC):
        return
    told.take(following.end(NEW))
    if old_goes_on:
        for source, sent in story.sent.items():
            for position in sent[story.old_end[source] :]:
                told.take(following.receive(OLD, message(source, *position)))
        assert dict(told.seen) == {s: p for s, p in story.sent.items() if p}
        assert not told.gaps
    told.take(following.end(OLD))
    assert told.in_order()


@given(
    st.lists(st.integers(1, 30), max_size=20),
    st.lists(st.integers(1, 30), max_size=20),
    st.data(),
)
def test_streams_with_holes_tell_a_gap_only_where_both_have_one(
    first: Sequence[int], second: Sequence[int], data: st.DataObject
) -> None:
    """Two brokers that have each lost some messages, heard at once."""
    following, told = StreamMerger(), Told()
    told.take(following.serve(OLD, [TOPIC], []))
    told.take(following.serve(NEW, [TOPIC], cursors({"other": (1, 1)})))
    streams = {OLD: sorted(set(first)), NEW: sorted(set(second))}
    while any(streams.values()):
        stream = data.draw(st.sampled_from([s for s, m in streams.items() if m]))
        seq = streams[stream].pop(0)
        told.take(following.receive(stream, message("a", 1, seq)))
    told.take(following.end(OLD))
    told.take(following.end(NEW))
    brought = sorted({*first, *second})
    assert told.seen["a"] == [(1, seq) for seq in brought]
    if brought:
        missing = brought[-1] - brought[0] + 1 - len(brought)
        assert sum(gap or 0 for gap in told.gaps["a"]) == missing


def test_what_a_broker_had_delivered_before_we_came_is_no_gap() -> None:
    following = StreamMerger()
    assert following.serve(OLD, [TOPIC], cursors({"a": (1, 7)})) == []
    assert list(following.receive(OLD, message("a", 1, 8))) == [message("a", 1, 8)]


def test_what_was_missed_between_two_brokers_is_told_at_once() -> None:
    following = StreamMerger()
    following.serve(OLD, [TOPIC], cursors({"a": (1, 7)}))
    assert following.end(OLD) == []
    told = following.serve(NEW, [TOPIC], cursors({"a": (1, 10), "new": (4, 2)}))
    assert told == [GapTold(TOPIC, "a", 3), GapTold(TOPIC, "new", None)]
    assert list(following.receive(NEW, message("a", 1, 11))) == [message("a", 1, 11)]


def test_a_source_that_started_again_meanwhile_leaves_a_gap_nobody_can_count() -> None:
    following = StreamMerger()
    following.serve(OLD, [TOPIC], cursors({"a": (1, 7)}))
    following.end(OLD)
    told = following.serve(NEW, [TOPIC], cursors({"a": (2, 3)}))
    assert told == [GapTold(TOPIC, "a", None)]


def test_our_own_messages_on_an_overlay_are_no_gap() -> None:
    following = StreamMerger()
    following.own_source = "me"
    following.serve(OLD, [TOPIC], [])
    following.end(OLD)
    assert following.serve(NEW, [TOPIC], cursors({"me": (1, 10)})) == []


def test_what_a_stream_brings_of_topics_that_it_does_not_serve_is_ignored() -> None:
    following = StreamMerger()
    following.serve(OLD, [TOPIC, "sports"], [])
    following.leave(OLD, ["sports"])
    assert list(following.receive(OLD, message("a", 1, 1, "sports"))) == []
    assert list(following.receive(NEW, message("a", 1, 1))) == []
    assert following.topics_of(OLD) == {TOPIC}


def test_a_third_broker_may_come_in_the_middle_of_a_move() -> None:
    following, told = StreamMerger(), Told()
    told.take(following.serve(OLD, [TOPIC], []))
    told.take(following.serve(NEW, [TOPIC], cursors({"a": (1, 4)})))
    told.take(following.serve(NEWER, [TOPIC], cursors({"a": (1, 6)})))
    told.take(following.receive(NEWER, message("a", 1, 7)))
    told.take(following.receive(NEW, message("a", 1, 5)))
    assert following.behind([TOPIC]) == [TOPIC]
    told.take(following.end(NEWER))
    assert following.streams_of(TOPIC) == (OLD, NEW)
    for seq in range(1, 5):
        told.take(following.receive(OLD, message("a", 1, seq)))
    told.take(following.receive(NEW, message("a", 1, 6)))
    assert told.seen["a"] == [(1, seq) for seq in range(1, 8)]
    assert not told.gaps


def test_what_one_of_three_brokers_brought_is_kept_when_the_others_go() -> None:
    following, told = StreamMerger(), Told()
    told.take(following.serve(OLD, [TOPIC], []))
    told.take(following.serve(NEW, [TOPIC], cursors({"a": (1, 2)})))
    told.take(following.serve(NEWER, [TOPIC], cursors({"a": (1, 6)})))
    told.take(following.receive(OLD, message("a", 1, 5)))
    told.take(following.receive(OLD, message("a", 1, 6)))
    told.take(following.end(OLD))
    assert not told.seen  # the second one may bring 3 and 4
    told.take(following.end(NEW))
    assert told.seen["a"] == [(1, 5), (1, 6)]
    assert following.streams_of(TOPIC) == (NEWER,)


def test_cursors_of_topics_that_are_not_served_say_nothing() -> None:
    following = StreamMerger()
    assert following.serve(OLD, [TOPIC], cursors({"a": (1, 2)}, "sports")) == []
    assert following.cursors([TOPIC, "sports"]) == []


def test_a_move_that_holds_too_many_messages_does_not_wait_for_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("brokerwise.runtime.client.inbox.HELD_MESSAGES", 3)
    following, told = StreamMerger(), Told()
    told.take(following.serve(OLD, [TOPIC], []))
    told.take(following.serve(NEW, [TOPIC], cursors({"a": (1, 2)})))
    for seq in range(3, 7):
        told.take(following.receive(NEW, message("a", 1, seq)))
    assert told.seen["a"] == [(1, seq) for seq in range(3, 7)]
    assert following.streams_of(TOPIC) == (NEW,)


def test_a_topic_that_is_forgotten_begins_anew() -> None:
    following = StreamMerger()
    following.serve(OLD, [TOPIC], cursors({"a": (1, 7)}))
    following.forget([TOPIC, "never heard of"])
    assert not following.knows(TOPIC)
    assert not following.topics_of(OLD)
    assert following.serve(OLD, [TOPIC], cursors({"a": (1, 9)})) == []


def test_cursors_are_those_of_what_was_handed_on() -> None:
    following = StreamMerger()
    following.serve(OLD, [TOPIC], [])
    following.receive(OLD, message("a", 1, 1))
    following.receive(OLD, message("a", 1, 2))
    assert following.cursors([TOPIC, "sports"]) == [(TOPIC, "a", 1, 2)]
    assert following.position(TOPIC, "a") == (1, 2)
    assert following.position("sports", "a") is None


async def test_a_full_inbox_says_so_once_and_again_when_there_is_room() -> None:
    said: list[str] = []
    inbox = EventQueue(lambda: said.append("full"), lambda: said.append("room"), ignore)
    for number in range(MOST_EVENTS + 5):
        inbox.add([GapTold("news", "p", number)])
    assert said == ["full"]
    for number in range(MOST_EVENTS + 5):
        found = await anext(inbox)
        assert isinstance(found, GapTold) and found.missing == number
        assert inbox.is_full == (number < MOST_EVENTS + 4 - LOW_MARK)
    assert said == ["full", "room"]


async def test_a_failed_inbox_gives_what_it_has_and_then_the_error() -> None:
    inbox = EventQueue(lambda: None, lambda: None, ignore)
    inbox.add([GapTold("news", "p", 1)])
    inbox.close(BrokerwiseError("over"))
    inbox.close()
    assert await anext(inbox) == GapTold("news", "p", 1)
    with pytest.raises(BrokerwiseError, match="over"):
        await anext(inbox)


async def test_everyone_on_a_loop_shares_one_timer() -> None:
    loop = asyncio.get_running_loop()
    timer = SharedTimer.of(loop)
    assert SharedTimer.of(loop) is timer
    ticks: list[float] = []
    owed: list[str] = []

    def settle() -> None:
        owed.append("settled")

    timer.watch(ticks.append)
    timer.soon(settle)
    timer.soon(settle)
    await until(lambda: ticks and owed)
    assert owed == ["settled"]
    timer.unwatch(ticks.append)
    timer.unwatch(ticks.append)
