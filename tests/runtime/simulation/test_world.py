"""What can be said about a world, and what cannot."""

from collections.abc import Callable
from dataclasses import replace
from math import inf

import numpy as np
import pytest
from tests.runtime.simulation.worlds import still_world

from brokerwise.model.errors import InputError
from brokerwise.runtime.simulation.world import (
    SteppedRates,
    Subscriptions,
    Timeline,
    World,
)


def rates(time: float) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([1, 2], np.int64)


def test_what_users_do_becomes_spans_of_time() -> None:
    told = Timeline()
    told.subscribe(0, "ann", "fires")
    told.login(1, "bob", (3.0, 4.0))
    told.login(2, "ann", (5.0, 6.0))
    told.login(3, "bob", (9.0, 9.0))
    told.subscribe(3, "bob", "floods")
    told.subscribe(4, "bob", "floods")
    told.unsubscribe(5, "bob", "floods")
    told.unsubscribe(6, "bob", "fires")
    told.unsubscribe(6, "cid", "fires")
    told.logout(7, "bob")
    told.logout(8, "cid")
    told.subscribe(9, "bob", "floods")
    told.login(10, "bob")
    world = told.world("w", 20, [(0, 0), (1, 1)], rates, 60)
    assert (told.users, told.topics) == (
        {"ann": 0, "bob": 1},
        {"fires": 0, "floods": 1},
    )
    assert [world.visits.at(t).tolist() for t in (0, 1, 2, 7, 10, 99)] == [
        *([], [1], [0, 1]),
        *([0], [0, 1], [0, 1]),
    ]
    spans = list(zip(world.subscriptions.begin, world.subscriptions.end, strict=True))
    assert spans == [(0, inf), (3, 5), (9, inf)]
    assert world.subscriptions.at(4).tolist() == [True, True, False]
    assert world.user_points[1].tolist() == [3, 4]
    assert (world.brokers, world.users, world.topics) == (2, 2, 2)


def test_rates_hold_from_step_to_step() -> None:
    stepped = SteppedRates(np.array([10.0, 20.0]), np.array([[1, 2], [3, 4]]))
    found = [stepped(time).tolist() for time in (0, 10, 19, 20, 99)]
    assert found == [[0, 0], [1, 2], [1, 2], [3, 4], [3, 4]]


def test_the_same_wish_twice_at_once_is_refused() -> None:
    one = np.array([0, 0], np.int32)
    with pytest.raises(InputError, match="topic 0 twice at once for user 0, at 4 s"):
        Subscriptions(one, one, np.array([4.0, 0.0]), np.array([9.0, 5.0]))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda w: replace(w, seconds=0), "seconds: found 0, expected more than 0"),
        (lambda w: replace(w, broker_points=np.zeros((0, 2))), "broker_points: found"),
        (lambda w: replace(w, user_points=np.zeros(3)), "expected x and y"),
        (lambda w: replace(w, user_points=np.zeros((1, 2))), "user of visits: found 0"),
        (
            lambda w: replace(w, topics=2),
            "topic of subscriptions: found 0 to 2, expected 0",
        ),
    ],
)
def test_a_malformed_world_is_refused(
    change: Callable[[World], World], text: str
) -> None:
    world = still_world([[1, 1], [1]])
    with pytest.raises(InputError, match=text):
        change(world)
