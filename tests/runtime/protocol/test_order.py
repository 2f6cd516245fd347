"""The sequencer against a naive model: a set of all that it was offered."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from brokerwise.runtime.protocol.order import (
    Gap,
    Position,
    Released,
    Sequencer,
    follows,
)

Named = tuple[str, int, int]  # source, epoch, seq
SOURCES = ("ann", "bob")


@dataclass
class Audience:
    """All that a sequencer handed on, and the gaps that it told."""

    sequencer: Sequencer[Named] = field(default_factory=Sequencer)
    heard: list[Named] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)

    def take(self, released: Released[Named]) -> list[Named]:
        self.heard += released.messages
        self.gaps += released.gaps
        return list(released.messages)

    def offer(self, *message: *Named) -> list[Named]:
        return self.take(self.sequencer.offer(*message, message))

    def of(self, source: str) -> list[Position]:
        return [(epoch, seq) for name, epoch, seq in self.heard if name == source]


def rises(positions: Sequence[Position]) -> bool:
    return all(a < b for a, b in pairwise(positions))


messages = st.tuples(st.sampled_from(SOURCES), st.integers(0, 3), st.integers(1, 6))
steps = st.one_of(
    messages.map(lambda m: ("offer", m)),
    messages.map(lambda m: ("offer", m)),
    messages.map(lambda m: ("catch_up", (m[0], m[1], m[2] - 1))),
    st.just(("begin", ("", 0, 0))),
    st.just(("settle", ("", 0, 0))),
)


@given(st.lists(steps, max_size=40), st.booleans())
def test_whatever_happens_each_message_is_handed_on_once_and_in_order(
    script: list[tuple[str, Named]], patient: bool
) -> None:
    audience = Audience(Sequencer(patient=patient))
    offered: set[Named] = set()
    seen_elsewhere: dict[str, Position] = {}
    for step, message in script:
        source, epoch, seq = message
        if step == "offer":
            offered.add(message)
            audience.offer(*message)
        elif step == "catch_up":
            seen = seen_elsewhere.get(source, (0, 0))
            seen_elsewhere[source] = max(seen, (epoch, seq))
            audience.take(audience.sequencer.catch_up(source, (epoch, seq)))
        elif step == "begin":
            audience.take(audience.sequencer.begin_transition())
        else:
            audience.take(audience.sequencer.settle())
            assert audience.sequencer.waiting() == 0
    audience.take(audience.sequencer.settle())
    assert set(audience.heard) <= offered
    for source in SOURCES:
        assert rises(audience.of(source))
        last = audience.sequencer.last.get(source, (0, 0))
        assert last >= seen_elsewhere.get(source, (0, 0))
        assert all(position <= last for position in audience.of(source))


@given(st.lists(messages, max_size=40))
def test_settled_each_message_is_handed_on_at_once_or_is_old(
    offers: list[Named],
) -> None:
    audience = Audience()
    highest: dict[str, Position] = {}
    old = 0
    for message in offers:
        source, *position = message
        new = tuple(position) > highest.get(source, (-1, 0))
        assert audience.offer(*message) == ([message] if new else [])
        old += not new
        if new:
            highest[source] = (message[1], message[2])
    assert audience.sequencer.duplicates == old
    assert audience.sequencer.last == highest
    assert audience.sequencer.waiting() == 0


@given(
    first=st.integers(1, 5),
    coming=st.sets(st.integers(1, 60), max_size=40),
    transition=st.booleans(),
)
def test_gaps_count_exactly_what_is_missing_within_an_epoch(
    first: int, coming: set[int], transition: bool
) -> None:
    audience = Audience()
    audience.sequencer.catch_up("ann", (7, first))
    if transition:
        audience.sequencer.begin_transition()
    for seq in sorted(coming):
        audience.offer("ann", 7, seq)
    audience.take(audience.sequencer.settle())
    new = {seq for seq in coming if seq > first}
    assert audience.of("ann") == [(7, seq) for seq in sorted(new)]
    missing = set(range(first + 1, max(new, default=first))) - new
    told = [(gap.after[1], gap.before[1], gap.missing) for gap in audience.gaps]
    assert sum(count or 0 for _, _, count in told) == len(missing)
    for after, before, count in told:
        between = set(range(after + 1, before))
        assert between <= missing
        assert count == len(between)


@st.composite
def histories(draw: st.DrawFn) -> tuple[dict[str, list[Position]], dict[str, int]]:
    """What each source says, and how much of it was seen before the transition.

    A source that nobody has seen before has one epoch."""
    said: dict[str, list[Position]] = {}
    seen: dict[str, int] = {}
    for source in SOURCES:
        lengths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
        seen[source] = draw(st.integers(0, sum(lengths)))
        if seen[source] == 0:
            lengths = lengths[:1]
        said[source] = [
            (3 * number + 2, seq + 1)
            for number, length in enumerate(lengths)
            for seq in range(length)
        ]
    return said, seen


@st.composite
def two_streams(
    draw: st.DrawFn, said: dict[str, list[Position]], seen: dict[str, int]
) -> list[Named]:
    """An interleaving of two streams, each in the order of the sources, that together
    have all that came after what was seen, and some of what came before."""
    streams: tuple[list[Named], list[Named]] = ([], [])
    for source, positions in said.items():
        for number, position in enumerate(positions):
            needed = number >= seen[source]
            which = draw(st.sampled_from([(0,), (1,), (0, 1)] + [()] * (not needed)))
            for stream in which:
                streams[stream].append((source, *position))
    mixed: list[Named] = []
    left = [list(reversed(stream)) for stream in streams]
    while any(left):
        choice = draw(st.booleans())
        mixed.append((left[choice] or left[not choice]).pop())
    return mixed


@given(st.data())
def test_a_transition_hands_on_everything_after_the_cursors_once_and_in_order(
    data: st.DataObject,
) -> None:
    said, seen = data.draw(histories())
    mixed = data.draw(two_streams(said, seen))
    cursors = [(s, *said[s][seen[s] - 1]) for s in SOURCES if seen[s]]
    # A broker that joins holds what comes before it is told of the cursors.
    early = data.draw(st.integers(0, len(mixed)))
    audience = Audience(Sequencer(settled=False, blind=True))
    for message in mixed[:early]:
        assert audience.offer(*message) == []
    audience.take(audience.sequencer.begin_transition(cursors))
    for message in mixed[early:]:
        audience.offer(*message)
    audience.take(audience.sequencer.settle())
    for source in SOURCES:
        assert audience.of(source) == said[source][seen[source] :]
    assert audience.gaps == []


@given(st.data())
def test_within_an_epoch_nothing_waits_for_the_end_of_the_transition(
    data: st.DataObject,
) -> None:
    said = {source: [(5, seq) for seq in range(1, 8)] for source in SOURCES}
    seen = {source: data.draw(st.integers(0, 7)) for source in SOURCES}
    audience = Audience()
    audience.sequencer.begin_transition(
        [(s, *said[s][seen[s] - 1]) for s in SOURCES if seen[s]]
    )
    for message in data.draw(two_streams(said, seen)):
        audience.offer(*message)
    assert audience.sequencer.waiting() == 0
    assert audience.sequencer.held == {}
    for source in SOURCES:
        assert audience.of(source) == said[source][seen[source] :]


@given(st.data())
def test_a_patient_sequencer_orders_two_streams_even_while_settled(
    data: st.DataObject,
) -> None:
    said = {source: [(5, seq) for seq in range(1, 8)] for source in SOURCES}
    seen = {source: data.draw(st.integers(0, 7)) for source in SOURCES}
    last = {s: said[s][seen[s] - 1] for s in SOURCES if seen[s]}
    audience = Audience(Sequencer(last, patient=True))
    for message in data.draw(two_streams(said, seen)):
        audience.offer(*message)
    assert audience.sequencer.held == {}
    assert audience.gaps == []
    for source in SOURCES:
        assert audience.of(source) == said[source][seen[source] :]


def test_a_patient_sequencer_hands_on_a_gap_when_it_is_settled_again() -> None:
    audience = Audience(Sequencer({"ann": (1, 1)}, patient=True))
    assert audience.offer("ann", 1, 4) == []
    assert audience.offer("ann", 1, 2) == [("ann", 1, 2)]
    assert audience.take(audience.sequencer.settle()) == [("ann", 1, 4)]
    assert audience.gaps == [Gap("ann", (1, 2), (1, 4), 1)]


def test_a_patient_sequencer_does_not_keep_a_source_waiting_that_starts_again() -> None:
    audience = Audience(Sequencer({"ann": (1, 1)}, patient=True))
    assert audience.offer("ann", 2, 1) == [("ann", 2, 1)]
    assert audience.offer("ann", 2, 2) == [("ann", 2, 2)]
    assert audience.gaps == []


def test_a_patient_sequencer_hands_on_what_waits_before_a_source_starts_again() -> None:
    audience = Audience(Sequencer({"ann": (1, 1)}, patient=True))
    for position in [(1, 3), (2, 1)]:
        assert audience.offer("ann", *position) == []
    audience.take(audience.sequencer.settle())
    assert audience.of("ann") == [(1, 3), (2, 1)]
    assert audience.gaps == [Gap("ann", (1, 1), (1, 3), 1)]


def test_a_source_that_starts_again_is_no_gap_if_its_first_message_comes() -> None:
    audience = Audience()
    audience.offer("ann", 1, 1)
    audience.offer("ann", 2, 1)
    assert audience.gaps == []


def test_nobody_can_count_what_an_earlier_epoch_ended_with() -> None:
    audience = Audience()
    audience.offer("ann", 1, 1)
    audience.offer("ann", 2, 3)
    assert audience.gaps == [Gap("ann", (1, 1), (2, 3), None)]


def test_who_comes_in_late_misses_nothing() -> None:
    audience = Audience()
    assert audience.offer("ann", 1, 40) == [("ann", 1, 40)]
    assert audience.gaps == []
    assert audience.offer("ann", 1, 39) == []


def test_in_a_transition_a_new_epoch_waits_for_what_may_come_of_the_old_one() -> None:
    audience = Audience()
    audience.sequencer.begin_transition([("ann", 1, 1)])
    assert audience.offer("ann", 2, 1) == []
    assert audience.offer("ann", 1, 2) == [("ann", 1, 2)]
    assert audience.take(audience.sequencer.settle()) == [("ann", 2, 1)]
    assert audience.gaps == []


def test_in_a_transition_a_new_epoch_does_not_overtake_what_waits() -> None:
    audience = Audience()
    audience.sequencer.begin_transition()
    assert audience.offer("ann", 1, 5) == []
    assert audience.offer("ann", 2, 1) == []
    assert audience.offer("ann", 1, 1) == [("ann", 1, 1)]
    audience.take(audience.sequencer.settle())
    assert audience.of("ann") == [(1, 1), (1, 5), (2, 1)]
    assert audience.gaps == [Gap("ann", (1, 1), (1, 5), 3)]


def test_in_a_transition_a_new_source_is_heard_at_once() -> None:
    audience = Audience()
    audience.sequencer.begin_transition([("ann", 1, 1)])
    assert audience.offer("bob", 9, 1) == [("bob", 9, 1)]


def test_what_was_held_blindly_is_heard_as_soon_as_it_is_known_to_be_next() -> None:
    audience = Audience(Sequencer(settled=False, blind=True))
    for message in [("ann", 1, 3), ("bob", 4, 1), ("bob", 4, 2), ("cyd", 6, 2)]:
        assert audience.offer(*message) == []
    known = audience.sequencer.begin_transition([("ann", 1, 2)])
    assert audience.take(known) == [("ann", 1, 3), ("bob", 4, 1), ("bob", 4, 2)]
    assert audience.sequencer.waiting() == 1


def test_settling_ends_blindness() -> None:
    audience = Audience(Sequencer(settled=False, blind=True))
    audience.offer("ann", 1, 1)
    assert audience.take(audience.sequencer.settle()) == [("ann", 1, 1)]
    assert audience.offer("bob", 1, 1) == [("bob", 1, 1)]


def test_in_a_transition_the_same_message_from_both_places_counts_as_twice() -> None:
    audience = Audience()
    audience.sequencer.begin_transition([("ann", 1, 1)])
    audience.offer("ann", 1, 3)
    audience.offer("ann", 1, 3)
    assert audience.sequencer.duplicates == 1
    assert audience.sequencer.waiting() == 1
    assert audience.offer("ann", 1, 2) == [("ann", 1, 2), ("ann", 1, 3)]
    audience.offer("ann", 1, 2)
    assert audience.sequencer.duplicates == 2


def test_catching_up_hands_on_what_waited_for_it_and_drops_what_was_seen() -> None:
    audience = Audience()
    audience.sequencer.begin_transition()
    for seq in (3, 4, 5, 7):
        audience.offer("ann", 1, seq)
    caught_up = audience.take(audience.sequencer.catch_up("ann", (1, 3)))
    assert caught_up == [("ann", 1, 4), ("ann", 1, 5)]
    assert audience.sequencer.waiting() == 1
    assert audience.take(audience.sequencer.catch_up("ann", (1, 7))) == []
    assert audience.sequencer.held == {}


def test_a_cursor_before_the_first_message_changes_nothing() -> None:
    audience = Audience()
    audience.sequencer.begin_transition()
    audience.offer("ann", 0, 5)
    assert audience.take(audience.sequencer.catch_up("ann", (0, 0))) == []
    assert audience.sequencer.last == {}
    assert audience.offer("ann", 0, 1) == [("ann", 0, 1)]


def test_a_cursor_never_goes_back() -> None:
    audience = Audience()
    audience.sequencer.catch_up("ann", (2, 2))
    audience.sequencer.catch_up("ann", (1, 9))
    assert audience.sequencer.last == {"ann": (2, 2)}


def test_settling_what_is_settled_does_nothing() -> None:
    assert Sequencer[str]().settle() == Released()


def test_the_very_next_is_the_next_seq_of_the_epoch_or_the_first_of_all() -> None:
    yes: Iterable[tuple[Position | None, Position]] = [
        (None, (9, 1)),
        ((9, 1), (9, 2)),
        ((9, 0), (9, 1)),
    ]
    no: Iterable[tuple[Position | None, Position]] = [
        (None, (9, 2)),
        ((9, 1), (9, 1)),
        ((9, 1), (9, 3)),
        ((9, 1), (10, 1)),
        ((9, 1), (8, 2)),
    ]
    assert all(follows(*case) for case in yes)
    assert not any(follows(*case) for case in no)
