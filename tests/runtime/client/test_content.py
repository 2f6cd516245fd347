"""Content of an overlay: which sub-channel holds a point, which box wants it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.model.subchannels import Axis as PlannedAxis
from brokerwise.runtime.broker.topics import Overlay
from brokerwise.runtime.client.events import (
    Event,
    GapTold,
    Received,
    select_content,
    wrap,
)
from brokerwise.runtime.protocol.fleet import Axis, OverlayPart
from brokerwise.runtime.protocol.subchannels import (
    WrongRangeError,
    is_subchannel,
    topic_of,
)

edges = st.lists(st.integers(-50, 50), min_size=2, max_size=6, unique=True).map(sorted)


@given(st.lists(edges, min_size=1, max_size=3), st.data())
def test_a_point_is_in_the_sub_channel_that_planner_and_broker_give_it(
    all_edges: list[list[int]], data: st.DataObject
) -> None:
    axes = [
        Axis(f"x{n}", tuple(map(float, found))) for n, found in enumerate(all_edges)
    ]
    point = {a.attribute: data.draw(st.floats(a.edges[0], a.edges[-1])) for a in axes}
    number = 0
    for axis in axes:
        planned = PlannedAxis(axis.attribute, axis.edges)
        (interval,) = planned.intervals_of(np.array([point[axis.attribute]]))
        number = number * planned.intervals + int(interval)
    box = {attribute: (value, value) for attribute, value in point.items()}
    overlay = Overlay(OverlayPart(tuple(axes), ()))
    assert topic_of(axes, point) == f"subchannel/{number}"
    assert overlay.topics_of(box) == [topic_of(axes, point)]


@pytest.mark.parametrize(
    ("point", "reason"),
    [
        ({}, "lacks attribute 'x'"),
        ({"x": 2.0}, "'x' at 2, expected 0 to 1"),
        ({"x": float("nan")}, "'x' at nan"),
        ({"x": 0.5, "z": 1.0}, "attribute 'z', which nobody has"),
    ],
)
def test_a_point_outside_of_the_space_is_refused(
    point: dict[str, float], reason: str
) -> None:
    with pytest.raises(WrongRangeError, match=reason):
        topic_of([Axis("x", (0.0, 1.0))], point)


def test_only_messages_that_a_box_holds_are_kept_and_what_has_no_point() -> None:
    def at(x: float, topic: str = "subchannel/1") -> Received:
        return Received(topic, "p", 1, 1, wrap({"x": x}, x))

    plain = Received("subchannel/1", "p", 1, 2, {"no": "point"})
    odd = Received("subchannel/1", "p", 1, 3, {"content": {"x": "?"}, "data": 1})
    gap = GapTold("subchannel/1", "p", 1)
    events: list[Event] = [at(0.1), at(0.4), plain, at(0.9), odd, gap, at(0.9, "news")]
    kept = select_content(events, [{"x": (0.4, 0.5)}, {"x": (0.0, 0.1), "y": (0, 1)}])
    unwrapped = Received("subchannel/1", "p", 1, 1, 0.4)
    assert kept == [unwrapped, plain, odd, gap, at(0.9, "news")]
    assert select_content([at(0.4)], [{}]) == [unwrapped]


@pytest.mark.parametrize(
    ("topic", "is_one"),
    [
        ("subchannel/0", True),
        ("subchannel/5", True),
        ("subchannel/6", False),
        ("subchannel/05", False),
        ("subchannel/-1", False),
        ("subchannel/", False),
        ("3", False),
    ],
)
def test_sub_channels_are_known_by_name(topic: str, is_one: bool) -> None:
    axes = [Axis("x", (0.0, 0.5, 1.0)), Axis("y", (0.0, 1.0, 2.0, 3.0))]
    assert is_subchannel(axes, topic) == is_one
    assert Overlay(OverlayPart(tuple(axes), ())).knows(topic) == is_one
