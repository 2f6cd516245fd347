"""Frames that ask for topics: whole, and never too large."""

from hypothesis import given
from hypothesis import strategies as st

from brokerwise.runtime.client.asking import subscriptions
from brokerwise.runtime.protocol.frames import Subscribe, encode
from brokerwise.runtime.protocol.limits import MAX_FRAME_BYTES, MAX_TOPICS_PER_FRAME

names = st.text("abä€", min_size=1, max_size=5)


@given(st.lists(names, unique=True, max_size=20), st.data())
def test_all_topics_and_cursors_are_asked_for_in_order(
    topics: list[str], data: st.DataObject
) -> None:
    rows = [(t, "s", 1, data.draw(st.integers(1, 9))) for t in topics]
    frames = list(subscriptions(topics, rows))
    assert [t for f in frames for t in f.topics] == topics
    assert [row for f in frames for row in f.cursors] == rows


def test_no_frame_has_more_topics_than_a_broker_takes() -> None:
    topics = [f"t{number}" for number in range(MAX_TOPICS_PER_FRAME + 1)]
    assert [len(f.topics) for f in subscriptions(topics, ())] == [len(topics) - 1, 1]


def test_no_frame_is_larger_than_a_broker_takes() -> None:
    topics = [f"{number:03}" + '"' * 253 for number in range(1_000)]
    rows = [
        (t, f"{n}" + "\\" * 250, 2**53 - 1, 2**53 - 1) for t in topics for n in "ab"
    ]
    frames = list(subscriptions(topics, rows))
    assert [t for f in frames for t in f.topics] == topics
    assert sum(len(f.cursors) for f in frames) == len(rows)
    for frame in frames:
        asked = Subscribe(2**53 - 1, frame.topics, {}, frame.cursors)
        assert len(encode(asked)) <= MAX_FRAME_BYTES


def test_cursors_that_would_not_fit_beside_their_topic_are_left_out() -> None:
    rows = [("news", f"source {number}", 1, 1) for number in range(20_000)]
    (frame,) = subscriptions(["news"], rows)
    assert frame.topics == ("news",) and frame.cursors == ()


def test_nothing_is_asked_for_without_topics() -> None:
    assert list(subscriptions([], ())) == []
